"""Prints report_page.cc: the report's page as two constants. Usage: embed_page.py report.html report.css SCRIPT.js..."""
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
    page_path, style_path, *script_paths = sys.argv[1:]
    page = put(read(page_path), "@style@", read(style_path))
    page = put(page, "@script@", "\n".join(read(path) for path in script_paths))
    if page.count("@data@") != 1 or RAW_END in page:
        sys.exit(f"embed_page.py: the page must hold @data@ once, and {RAW_END} never")
    before, after = page.split("@data@")
    print('#include "tools/report/report_page.h"\n\nnamespace weir::tools {\n')
    print(f'const char kPageBeforeData[] = R"page({before}{RAW_END};\n')
    print(f'const char kPageAfterData[] = R"page({after}{RAW_END};\n')
    print("}  // namespace weir::tools")


main()
