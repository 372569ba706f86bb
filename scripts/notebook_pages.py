"""Pages of the site from notebooks (`hooks` in mkdocs.yml): text, code and stored outputs. Nothing is run."""

import re
from pathlib import PurePosixPath
from typing import Any

from mkdocs.structure.files import File, Files
from nbconvert import MarkdownExporter

# Where a page links to a notebook, the site links to the notebook's page.
NOTEBOOK = re.compile(r"\]\(([\w./-]+)\.ipynb\)")


def on_files(files: Files, config: Any) -> Files:
    """Add a page for every notebook, and its pictures."""
    for notebook in [f for f in files if f.src_uri.endswith(".ipynb")]:
        place = PurePosixPath(notebook.src_uri)
        resources = {"unique_key": place.stem, "output_files_dir": f"{place.stem}_files"}
        text, made = MarkdownExporter().from_filename(notebook.abs_src_path, resources=resources)
        # Tables of pandas look and scroll like all others.
        text = text.replace('<table border="1" class="dataframe">', "<table>")
        text += f'\n\n---\n\nThis page is a notebook: <a href="{place.name}">{place.name}</a>.\n'
        files.append(File.generated(config, str(place.with_suffix(".md")), content=text))
        for name, data in made["outputs"].items():
            files.append(File.generated(config, str(place.parent / name), content=data))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Link to pages in place of notebooks."""
    return NOTEBOOK.sub(r"](\1.md)", markdown)
