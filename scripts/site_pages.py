"""What the theme leaves to do on pages of the site (`hooks` in mkdocs.yml): a named search, no page for errors."""

from typing import Any

SEARCH = 'data-md-component="search" role="dialog"'


def on_post_page(output: str, **_: Any) -> str:
    """Name the dialog of the search, which readers of screens announce."""
    assert SEARCH in output, "the theme writes the search in another way"
    return output.replace(SEARCH, f'{SEARCH} aria-label="Search"', 1)


def on_post_template(output_content: str, template_name: str, **_: Any) -> str:
    """Leave out the page for addresses that are not there: its links would only hold at the root of a server."""
    return "" if template_name == "404.html" else output_content
