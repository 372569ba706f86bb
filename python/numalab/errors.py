"""Exceptions and warnings of the package."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar


class LabError(RuntimeError):
    """The command gave no result that could be returned.

    ``code`` is its exit code (``docs/reference/json.md``), and ``message`` its message on standard error.
    ``output`` is its standard output, which holds the result if the code is 1 or 4 to 12.
    """

    def __init__(self, code: int, message: str, output: str = "") -> None:
        """Keep the exit code and the output beside the message."""
        # The base class gets all arguments, since copying and pickling an exception calls it with these.
        super().__init__(code, message, output)
        self.code = code
        self.message = message
        self.output = output

    def __str__(self) -> str:
        """Return the message alone."""
        return self.message


class SpecError(LabError):
    """A machine, kernel, workload, experiment or setting was refused before anything ran.

    ``message`` is the text that the command prints. ``file``, ``line`` and ``column`` are the place, as far as
    it is known. ``what`` is wrong, ``expected`` says what would do, and ``suggestion`` is the nearest valid
    name, or ``None``. The exit code is 2.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str = "",
        line: int | None = None,
        column: int | None = None,
        what: str = "",
        expected: str = "",
        suggestion: str | None = None,
    ) -> None:
        """Keep the parts of the message as fields."""
        super().__init__(2, message)
        self.file = file
        self.line = line
        self.column = column
        self.what = what
        self.expected = expected
        self.suggestion = suggestion

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the fields too, since errors come back from other processes."""
        fields = ("file", "line", "column", "what", "expected", "suggestion")
        return _spec_error, (type(self), self.message, {name: getattr(self, name) for name in fields})

    def __str__(self) -> str:
        """Return the message alone."""
        return self.message


class UnknownName(SpecError, KeyError):
    """A result has no figure, counter, series or column of this name. It is a ``KeyError`` too.

    ``what``, ``expected`` and ``suggestion`` are as in ``SpecError``.
    """


def unknown(what: str, name: object, names: Iterable[str]) -> UnknownName:
    """Return the error for a name that is none of ``names``."""
    from difflib import get_close_matches

    there = list(names)
    near = next(iter(get_close_matches(str(name), there, 1)), None)
    expected = f"one of {', '.join(there[:20])}{', …' if len(there) > 20 else ''}"
    wrong = f"no {what} `{name}`"
    text = f"{wrong}; expected {expected}" + (f"; did you mean `{near}`?" if near else "")
    return UnknownName(text, what=wrong, expected=expected, suggestion=near)


Value = TypeVar("Value")


class Named(dict[str, Value]):
    """Values by name. A name that is not there is an ``UnknownName`` with the nearest one."""

    def __init__(self, what: str, values: Mapping[str, Value]) -> None:
        """Keep what the values are, in one word."""
        super().__init__(values)
        self._what = what

    def __missing__(self, name: str) -> Value:
        """Raise ``UnknownName``."""
        raise unknown(self._what, name, self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the values."""
        return Named, (self._what, dict(self))


def _spec_error(kind: type[SpecError], message: str, fields: dict[str, Any]) -> SpecError:
    return kind(message, **fields)


class LabWarning(UserWarning):
    """A comparison was returned, and the command printed a remark about it.

    There are three kinds of remarks. A run did not complete or has no record yet; kernels did different work
    and are not comparable; or runs were removed from the comparison, because this call asked for other ones.
    The text begins with the directory. Python shows equal texts once per line of a program, so the directory
    lets it show the warning of every comparison in a loop.
    ``warnings.simplefilter("error", LabWarning)`` raises an exception instead.
    """


class MissingExtra(ImportError):
    """A part of the package needs a library that is not installed; the message says how to install it."""


# Where the file is from. No index is named: what is called numalab there may be anybody's.
WHEEL = "with the wheel that `make dist` makes"


def need(module: str, extra: str) -> Any:
    """Import ``module``, or raise ``MissingExtra`` that names the extra which brings it."""
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as e:
        name = module.split(".")[0]
        text = f'{name} is not installed; expected it from `pip install "$(echo numalab-*.whl)[{extra}]"`, {WHEEL}'
        raise MissingExtra(text, name=name) from e
