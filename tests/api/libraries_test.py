# SPDX-License-Identifier: Apache-2.0
"""What clients see of the built libraries: names, dependencies, symbols. libraries_test.py INCLUDE_ROOT LIB_FOLDER"""
import pathlib
import re
import subprocess
import sys
import unittest

import public_functions

LIB_FOLDER = pathlib.Path(sys.argv.pop(2))
INCLUDE_ROOT = pathlib.Path(sys.argv.pop(1))
LIBRARIES = ["libascendcl.so", "libnnopbase.so", "libopapi_nn.so", "libopapi_math.so"]

# Looked up by name, declared nowhere.
HOOKS = {
    "libnnopbase.so": {
        "InitHugeMemThreadLocal",
        "UnInitHugeMemThreadLocal",
        "ReleaseHugeMem",
        "aclnnReselectStaticKernel",
        "aclnnReselectStaticKernelWithPath",
    },
    "libopapi_math.so": {"CanopyOpapiMathVersion"},
}


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, env={"LC_ALL": "C"}).stdout


def path_of(library):
    return str(LIB_FOLDER / library)


def dynamic(library, tag):
    return re.findall(rf"\({tag}\).*\[(.*)\]", output_of("/usr/bin/readelf", "-dW", path_of(library)))


def exported(library, *options):
    lines = output_of("/usr/bin/nm", "-D", "--defined-only", *options, path_of(library)).splitlines()
    return {line.split(maxsplit=2)[2] for line in lines}


class LibrariesTest(unittest.TestCase):
    def test_sonames_carry_no_version(self):
        for library in LIBRARIES:
            with self.subTest(library=library):
                self.assertEqual(dynamic(library, "SONAME"), [library])

    def test_symbols_carry_no_version(self):
        for library in LIBRARIES:
            with self.subTest(library=library):
                self.assertNotIn(".gnu.version_d", output_of("/usr/bin/readelf", "-SW", path_of(library)))
                self.assertEqual([s for s in exported(library) if "@" in s], [])

    def test_each_library_names_the_one_below_it(self):
        self.assertIn("libnnopbase.so", dynamic("libopapi_nn.so", "NEEDED"))
        self.assertIn("libascendcl.so", dynamic("libnnopbase.so", "NEEDED"))

    # A caller frees what aclGetViewShape gave with the operator delete[] that it finds through the library.
    def test_the_standard_library_is_the_shared_one(self):
        for library in ["libascendcl.so", "libnnopbase.so", "libopapi_nn.so"]:
            with self.subTest(library=library):
                self.assertIn("libstdc++.so.6", dynamic(library, "NEEDED"))
                self.assertEqual([s for s in exported(library) if re.match("_Zd[al]Pv|_Zn[aw]m", s)], [])

    def test_c_symbols_are_those_that_are_declared(self):
        declared = public_functions.functions_by_library(INCLUDE_ROOT)
        for library in LIBRARIES:
            c_symbols = {s for s in exported(library) if not s.startswith("_Z")}
            with self.subTest(library=library):
                self.assertEqual(c_symbols, declared.get(library, set()) | HOOKS.get(library, set()))

    # Weak symbols of the standard library are in every C++ program; another project's could clash with a client's copy.
    def test_cpp_symbols_are_of_this_project_or_the_standard_library(self):
        for library in LIBRARIES:
            foreign = [
                s for s in exported(library, "-C") if re.search(r"\b(hwy|nlohmann|CLI|testing)::", s) and "canopy::" not in s
            ]
            with self.subTest(library=library):
                self.assertEqual(foreign, [])

    # Clients use the executor cache when they find any of it.
    def test_nothing_of_the_executor_cache_is_exported(self):
        for library in LIBRARIES:
            with self.subTest(library=library):
                self.assertEqual([s for s in exported(library) if "PTA" in s or "CachedList" in s], [])


if __name__ == "__main__":
    unittest.main()
