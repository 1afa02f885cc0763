# SPDX-License-Identifier: Apache-2.0
"""The headers' outward form. headers_test.py INCLUDE_ROOT"""
import pathlib
import re
import sys
import unittest

import public_functions

INCLUDE_ROOT = pathlib.Path(sys.argv.pop(1))


class HeadersTest(unittest.TestCase):
    def test_every_parameter_has_a_name(self):
        for header, function, parameters in public_functions.prototypes(INCLUDE_ROOT):
            if parameters.strip() == "void":
                continue
            for parameter in parameters.split(","):
                with self.subTest(header=str(header), function=function, parameter=parameter):
                    self.assertRegex(parameter.strip(), r"^(\.\.\.|(const )?\w+[\w\s*]*[\s*]\w+)$")

    def test_level2_holds_copies_of_the_operator_headers(self):
        folder = INCLUDE_ROOT / "aclnnop"
        names = {p.name for p in folder.glob("*.h")}
        self.assertEqual(names, {p.name for p in (folder / "level2").glob("*.h")})
        for name in names:
            with self.subTest(name=name):
                self.assertEqual((folder / name).read_text(), (folder / "level2" / name).read_text())

    def test_includes_resolve_from_the_include_root_or_beside_the_header(self):
        for header in public_functions.headers(INCLUDE_ROOT):
            for name in re.findall(r'#include "(.*)"', (INCLUDE_ROOT / header).read_text()):
                with self.subTest(header=str(header), include=name):
                    places = [INCLUDE_ROOT / name, (INCLUDE_ROOT / header).parent / name]
                    self.assertTrue(any(place.is_file() for place in places))

    def test_includes_are_those_that_programs_rely_on(self):
        wanted = {
            "acl/acl.h": ["acl_rt.h", "acl_op.h", "acl_mdl.h"],
            "acl/acl_base.h": ["acl_base_rt.h", "acl_base_mdl.h", "rt_error_codes.h", "ge_error_codes.h"],
            "acl/acl_base_rt.h": ["stdint.h", "stddef.h"],
            "acl/acl_rt.h": ["stdint.h", "stddef.h", "stdbool.h", "acl_base.h", "acl_rt_allocator.h"],
            "aclnn/acl_meta.h": ["cstdint", "cstdlib", "acl/acl_base.h"],
            "aclnn/aclnn_base.h": ["cstdint", "cstdlib", "aclnn/acl_meta.h"],
            "aclnnop/aclnn_convolution_backward.h": ["aclnn/aclnn_base.h", "aclnn_util.h"],
        }
        for header, names in wanted.items():
            included = re.findall(r'#include ["<](.*)[">]', (INCLUDE_ROOT / header).read_text())
            for name in names:
                with self.subTest(header=header, include=name):
                    self.assertTrue(any(i == name or i.endswith("/" + name) for i in included))

    def test_guards_that_programs_rely_on(self):
        self.assertIn("#ifndef ACLNN_META\n#define ACLNN_META\n", (INCLUDE_ROOT / "aclnn/acl_meta.h").read_text())
        self.assertIn("#ifndef OPBASE_COMMON_ACLNN_UTIL_H\n", (INCLUDE_ROOT / "aclnnop/aclnn_util.h").read_text())


if __name__ == "__main__":
    unittest.main()
