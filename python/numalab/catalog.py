"""What can be run: the entries of the catalog, files, and specs built in Python."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Union

from numalab import _native
from numalab.spec import Spec

# The name of a catalog entry, the path of a TOML file, or a spec built in Python.
Thing = Union[str, "os.PathLike[str]", Spec]


def text_of(value: object) -> str:
    """Write a value as the command reads it."""
    text = str(value)
    # Truth values of numpy are no ``bool``, but look like one. Strings are passed on unchanged.
    truth = not isinstance(value, str) and text in ("True", "False")
    return text.lower() if truth else text


def name_of(what: str, value: object) -> str:
    """Return a name or a path as text; raise ``TypeError`` for a number, since 6.10 would become 6.1."""
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(text, str):
        raise TypeError(f"{what} is {value!r}, a {type(value).__name__}; expected a string such as '{value}'")
    return text


def things(what: str, value: Thing | Iterable[Thing]) -> list[Thing]:
    """Return one thing or several as a list."""
    return [value] if isinstance(value, (str, os.PathLike, Spec)) else list(value)


class Catalog:
    """The built-in catalog, with the folder ``overlay`` laid over it, and the specs that were added."""

    def __init__(self, overlay: str | os.PathLike[str] | None = None, specs: Sequence[Spec] = ()) -> None:
        """Read the catalog. Raises ``SpecError`` or ``LabError`` for a folder that is no catalog."""
        self.overlay = overlay
        self.native = _native.Catalog(overlay)
        self.specs: dict[tuple[str, str], Spec] = {}
        for spec in specs:
            self.add(spec)

    def add(self, spec: Spec) -> str:
        """Add a spec in place of the entry of its name, and return its name."""
        if self.specs.get((spec.KIND, spec.name)) != spec:
            self.native.insert(spec.KIND, spec.name, f"<{spec.name}>", spec.toml())
            self.specs[spec.KIND, spec.name] = spec
        return spec.name

    @property
    def machines(self) -> list[str]:
        """Names of the machines."""
        return self.native.names("machines")

    @property
    def kernels(self) -> list[str]:
        """Names of the kernels, in order of release."""
        return self.native.names("kernels")

    @property
    def workloads(self) -> list[str]:
        """Names of the workloads."""
        return self.native.names("workloads")

    @property
    def experiments(self) -> list[str]:
        """Names of the experiments."""
        return self.native.names("experiments")

    def text(self, kind: str, name: str) -> str:
        """Return the TOML of an entry; ``kind`` is ``"machines"``, ``"kernels"``, and so on."""
        return self.native.text(kind, name)[1]

    def resolve(self, what: str, thing: Thing) -> str:
        """Return the name by which the extension finds a thing."""
        return self.add(thing) if isinstance(thing, Spec) else name_of(what, thing)

    def request(
        self,
        machines: Thing | Iterable[Thing],
        kernels: Thing | Iterable[Thing],
        workloads: Thing | Iterable[Thing],
        *,
        params: Mapping[str, object] | None = None,
        settings: Mapping[str, object] | None = None,
        seed: int = 1,
        iterations: int = 1,
        baseline: str | None = None,
        name: str = "python",
        files: bool = True,
        quiet_machine: bool | None = None,
        until_settled: bool | None = None,
        exact: bool | None = None,
    ) -> _native.Request:
        """Resolve machines × kernels × workloads × seeds into plans. Raises ``SpecError``.

        Without ``files`` it takes half the time, and the plans cannot have records on disk.
        A parameter of one workload is ``"WORKLOAD.NAME"``, one of all that have it is ``"NAME"``.
        """
        named = {
            kind: [self.resolve(what, t) for t in things(what, value)]
            for kind, what, value in (
                ("machines", "machine", machines),
                ("kernels", "kernel", kernels),
                ("workloads", "workload", workloads),
            )
        }
        of_params: list[tuple[str | None, str, str]] = []
        for key, value in (params or {}).items():
            workload, _, rest = key.rpartition(".")
            of_params.append((workload or None, rest, text_of(value)))
        of_settings = [(key, text_of(value)) for key, value in (settings or {}).items()]
        return self.native.request(
            {
                "name": name,
                "machines": named["machines"],
                "kernels": named["kernels"],
                "workloads": named["workloads"],
                "params": of_params,
                "settings": of_settings,
                "quiet_machine": bool(quiet_machine),
                "until_settled": bool(until_settled),
                "exact": bool(exact),
            },
            seed,
            iterations,
            baseline,
            files,
        )

    def _repr_html_(self) -> str:
        """Return the counts of entries, for notebooks."""
        from numalab.table import table_html

        kinds: list[list[Any]] = [
            [kind, len(self.native.names(kind)), ", ".join(self.native.names(kind)[:6]) + ", …"]
            for kind in ("machines", "kernels", "workloads", "experiments")
        ]
        return table_html(["kind", "entries", ""], kinds)
