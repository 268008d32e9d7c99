"""Every relative link of the documentation leads to a file or a heading, and every source file and
every test that a page names exists. The changelog names old files, and docs/adding_*.md files yet to be written."""
import pathlib
import re
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("bench/**/*.md")]
LINK = re.compile(r"\]\(([^)\s]+)\)")
NAMED_FILE = re.compile(r"`((?:evener|tests|bench|scripts|examples|cmake|docs)/[\w./-]+\.(?:cc|h|py|cu|cl|md|toml|svg))`")
# Test suites are CamelCase, and so are their tests.
NAMED_TEST = re.compile(r"`((?:[A-Z]\w+|\w+_test)\.[A-Z][^`]*)`")
PAGES_WITH_TESTS = [ROOT / "SECURITY.md", ROOT / "docs/reliability.md"]


def prose(page):
    """The text without code blocks, in which brackets are code."""
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def anchors(page):
    """As GitHub makes them from headings, and those that a page sets itself."""
    text = prose(page)
    headings = re.findall(r"^#+ +(.*)$", text, flags=re.MULTILINE)
    names = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]
    return {*names, *re.findall(r'<a id="([^"]+)">', text)}


def broken_links(page):
    for target in LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path) if path else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            yield target


def tests_in(root):
    """Suite.Name of C++ tests, module.Class of the fault tests."""
    names = set()
    for file in root.glob("tests/**/*_test.cc"):
        names |= {".".join(test) for test in re.findall(r"^TEST(?:_[FP])?\((\w+),\s*(\w+)\)", file.read_text(), re.M)}
    for file in root.glob("tests/faults/*_test.py"):
        names |= {f"{file.stem}.{name}" for name in re.findall(r"^class (\w+)", file.read_text(), re.M)}
    return names


def registered_fault_tests(text):
    """module.Class of the tests that tests/faults/CMakeLists.txt (its text) runs; module where it runs all classes."""
    listed = " ".join(re.findall(r"foreach\(test ([^)]*)\)", text))
    return {*listed.split(), *re.findall(r"unittest -v (\w+_test(?:\.\w+)?)", text)}


class Links(unittest.TestCase):
    maxDiff = None

    def test_broken_links_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "page.md"
            page.write_text("# A head-line\n[a](page.md#a-head-line) [b](none.md) [c](#other) [d](https://e.org)\n")
            self.assertEqual(list(broken_links(page)), ["none.md", "#other"])

    def test_every_relative_link_resolves(self):
        self.assertGreater(len(PAGES), 10)
        broken = [f"{page.relative_to(ROOT)}: {target}" for page in PAGES for target in broken_links(page)]
        self.assertEqual(broken, [])

    def test_every_source_file_that_is_named_exists(self):
        missing = [
            f"{page.relative_to(ROOT)}: {name}"
            for page in PAGES
            for name in NAMED_FILE.findall(prose(page))
            if not page.name.startswith(("CHANGELOG", "adding_")) and not (ROOT / name).exists()
        ]
        self.assertEqual(missing, [])

    def test_every_test_that_is_named_exists(self):
        tests = tests_in(ROOT)
        named = {test for page in PAGES_WITH_TESTS for test in NAMED_TEST.findall(prose(page))}
        self.assertGreater(len(named), 40)
        self.assertEqual(sorted(named - tests), [])

    def test_every_fault_test_that_is_named_is_run(self):
        registered = registered_fault_tests((ROOT / "tests/faults/CMakeLists.txt").read_text())
        named = {test for page in PAGES_WITH_TESTS for test in NAMED_TEST.findall(prose(page)) if "_test." in test}
        self.assertGreater(len(named), 10)
        self.assertEqual(sorted(test for test in named if not {test, test.split(".")[0]} & registered), [])

    def test_registered_fault_tests_are_found(self):
        text = "foreach(test a_test.One\n  a_test.Two)\nadd_test(X -m unittest -v ${test})\nadd_test(Y -m unittest -v b_test)\n"
        self.assertEqual(registered_fault_tests(text), {"a_test.One", "a_test.Two", "b_test"})

    def test_shortened_test_names_are_found(self):
        self.assertEqual(NAMED_TEST.findall("`Suite.Name...`, `a_test.One`, `Suite.Name`"), ["Suite.Name...", "a_test.One", "Suite.Name"])


if __name__ == "__main__":
    unittest.main()
