"""Prints the C++ of a page as two constants. Usage: embed_page.py HEADER.h CONSTANT page.html FILE.css... FILE.js...

The page holds @style@, @script@ and @data@ once each; the constants are kCONSTANTBeforeData and kCONSTANTAfterData, which HEADER.h declares.
"""
import sys

RAW_END = ')page"'


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def put(page, mark, text):
    if page.count(mark) != 1:
        sys.exit(f"embed_page.py: the page must hold {mark} once, and holds it {page.count(mark)} times")
    return page.replace(mark, text)


def main():
    header, constant, page_path, *part_paths = sys.argv[1:]
    parts = {kind: "\n".join(read(path) for path in part_paths if path.endswith(kind)) for kind in (".css", ".js")}
    page = put(read(page_path), "@style@", parts[".css"])
    page = put(page, "@script@", parts[".js"])
    if page.count("@data@") != 1 or RAW_END in page:
        sys.exit(f"embed_page.py: the page must hold @data@ once, and {RAW_END} never")
    before, after = page.split("@data@")
    print(f'#include "{header}"\n\nnamespace weir::tools {{\n')
    print(f'const char k{constant}BeforeData[] = R"page({before}{RAW_END};\n')
    print(f'const char k{constant}AfterData[] = R"page({after}{RAW_END};\n')
    print("}  // namespace weir::tools")


main()
