# SPDX-License-Identifier: Apache-2.0
"""What the public headers declare, read as other people's testers read it: with a regular expression.

As a program: public_functions.py INCLUDE_ROOT OUT.c writes a C program that refers to every public function.
"""
import pathlib
import re
import sys

MARK = re.compile(r"\b(?:ACL_FUNC_VISIBILITY|ACLNN_API)\b")
PROTOTYPE = re.compile(r"\b(?:ACL_FUNC_VISIBILITY|ACLNN_API)\s+[\w\s*]+?(\w+)\s*\(([^()]*)\)\s*;")
LIBRARY_OF_FOLDER = {"acl": "libascendcl.so", "aclnn": "libnnopbase.so", "aclnnop": "libopapi_nn.so"}


def without_comments_and_macros(text):
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
    return re.sub(r"^[ \t]*#(?:.*\\\n)*.*$", "", text, flags=re.M)


def headers(include_root):
    return sorted(p.relative_to(include_root) for p in pathlib.Path(include_root).rglob("*.h"))


def prototypes(include_root):
    """(header, function, parameter list) of every declaration; raises where the expression misses one."""
    found = []
    for header in headers(include_root):
        text = without_comments_and_macros((pathlib.Path(include_root) / header).read_text(encoding="utf-8"))
        here = [(header, m.group(1), m.group(2)) for m in PROTOTYPE.finditer(text)]
        marks = len(MARK.findall(text))
        if marks != len(here):
            raise ValueError(f"{header}: {marks} functions are marked public, {len(here)} prototypes can be read")
        found += here
    return found


def functions_by_library(include_root):
    """The functions that each library must export."""
    result = {library: set() for library in LIBRARY_OF_FOLDER.values()}
    for header, function, _ in prototypes(include_root):
        result[LIBRARY_OF_FOLDER[header.parts[0]]].add(function)
    return result


def c_program(include_root):
    declared = sorted({function for _, function, _ in prototypes(include_root)})
    includes = "\n".join(f'#include "{header.as_posix()}"' for header in headers(include_root))
    entries = "\n".join(f'    {{"{name}", (void (*)(void)){name}}},' for name in declared)
    return f"""{includes}

#include <stdio.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

int main(void) {{
  static const struct {{
    const char* name;
    void (*function)(void);
  }} functions[] = {{
{entries}
  }};
  const unsigned count = sizeof(functions) / sizeof(functions[0]);
  unsigned i;
  for (i = 0; i < count; ++i) {{
    if (functions[i].function == NULL) return printf("%s is missing\\n", functions[i].name), 1;
  }}
  ACL_APP_LOG(ACL_INFO, "linked %u functions", count);
  printf("linked %u functions\\n", count);
  return 0;
}}
"""


if __name__ == "__main__":
    pathlib.Path(sys.argv[2]).write_text(c_program(sys.argv[1]), encoding="utf-8")
