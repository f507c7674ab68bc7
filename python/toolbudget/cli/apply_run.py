"""One run of ``toolbudget apply``: look at the input, judge it group by group, write the output."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolbudget.cli.apply_report import ApplyReport
from toolbudget.cli.failure import CommandError
from toolbudget.cli.judging import Judge
from toolbudget.cli.overview import refuse_without_records, survey
from toolbudget.cli.reading import open_input
from toolbudget.cli.source import open_source
from toolbudget.cli.window import cut_windows
from toolbudget.cli.wording import printable
from toolbudget.cli.workspace import Workspace, default_root
from toolbudget.cli.writing import OutputFile, OutputTakenError, output_chunks, splices_of
from toolbudget.limits import DEFAULT_DECLARED_LIMIT_CHARS, DeclaredLimits, Limits
from toolbudget.limits.defaults import DefaultLimit

if TYPE_CHECKING:
    from toolbudget.budget.session import Session
    from toolbudget.cli.apply_report import SessionIdSource
    from toolbudget.cli.judging import Results
    from toolbudget.cli.overview import Overview
    from toolbudget.cli.progress import Progress
    from toolbudget.cli.reading import Input
    from toolbudget.cli.source import Format, Source
    from toolbudget.limits import LimitsArguments, PreviewStyle, Unit

__all__ = ["ApplyOptions", "run"]

_OUTPUT_NAMES: Final = {
    "jsonl": "applied.jsonl",
    "body": "applied.json",
    "messages": "applied.json",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyOptions:
    """What the command line asks for; ``None`` leaves it to the input, environment or default."""

    input_path: str
    root: str | None = None
    session_id: str | None = None
    out: str | None = None
    format: Format | None = None
    no_exempt: tuple[str, ...] = ()
    max_result_chars: float | None = None
    max_message_chars: float | None = None
    limit_unit: Unit | None = None
    config_path: str | None = None
    preview_style: PreviewStyle | None = None
    force: bool = False

    def limits(self) -> Limits:
        """Return the limits: options, else the environment, else the file, else defaults.

        Raises:
            ConfigError: The environment or the file holds a value that cannot be used.
        """
        given: LimitsArguments = {}
        if self.limit_unit is not None:
            given["unit"] = self.limit_unit
        if self.max_result_chars is not None:
            given["max_result_chars"] = self.max_result_chars
        if self.max_message_chars is not None:
            given["max_message_chars"] = self.max_message_chars
        if self.preview_style is not None:
            given["preview_style"] = self.preview_style
        if self.config_path is None:
            return Limits.from_environment(**given)
        limits = Limits.from_file(self.config_path, **given)
        # An option counts before the file: what it names is judged, whatever the file exempts.
        tools = {
            name: limit
            for name, limit in limits.tools.items()
            if not (name in self.no_exempt and limit == math.inf)
        }
        return replace(limits, tools=tools)

    def declared_limits(self, unit: Unit) -> dict[str, float]:
        """Return the limits that the options declare for tools, in the unit of the limits."""
        default = DefaultLimit(DEFAULT_DECLARED_LIMIT_CHARS)
        return dict.fromkeys(self.no_exempt, default.in_unit(unit))


def run(options: ApplyOptions, progress: Progress) -> ApplyReport:
    """Apply the gate and the budget to an input; return what was done.

    Raises:
        CommandError: The input cannot be used, or the output cannot be written.
        ToolBudgetError: A limit or the root cannot be used, or records cannot be read.
    """
    limits = options.limits()
    root = os.path.abspath(default_root() if options.root is None else options.root)  # noqa: PTH100 - symlinks stay
    with open_input(options.input_path, spool_directory=root) as opened:
        source = open_source(opened, options.format)
        overview = survey(source, progress.begin("Reading", opened.size_bytes))
        refuse_without_records(opened.name, overview.records, overview.malformed)
        if not overview.has_messages:
            # A transcript may have none yet; a wrong file looks just like that.
            note = f"{opened.name} holds no messages; it is passed on as it is"
            progress.say(printable(note))
        session_id, session_id_source = _choose_session(options, overview, opened)
        workspace = Workspace.at(
            root, session_id, limits=limits, declared_limits=options.declared_limits(limits.unit)
        )
        output = _output_file(options, workspace, source.format)
        job = _Job(options, opened, source, overview, workspace, output, progress)
        if not options.force or output.is_same_as(opened.identity):
            job.refuse_other_output()
        store = workspace.open_store()
        results = job.judge(workspace.open_session(store, source=opened))
        is_output_new = job.write(results)
        if options.out is None:
            workspace.mark_output()
    return ApplyReport(
        input_path=options.input_path,
        format=source.format,
        unit=source.unit,
        session_id=session_id,
        session_id_source=session_id_source,
        unused_session_id=_unused_session_id(options, session_id),
        root=workspace.root,
        results_directory=workspace.results,
        output=output.path,
        is_output_new=is_output_new,
        overview=overview,
        results=results,
        new_files=store.new_files,
        new_bytes=store.new_bytes,
        limit_unit=limits.unit,
    )


@dataclass(frozen=True, slots=True)
class _Job:
    """The parts of a run that belong together once the input is known."""

    options: ApplyOptions
    input: Input
    source: Source
    overview: Overview
    workspace: Workspace
    output: OutputFile
    progress: Progress

    def judge(self, session: Session, stage: str = "Judging") -> Results:
        """Judge every group of the input in a session, which is closed in the end."""
        limits = self.workspace.limits
        declared = DeclaredLimits(self.workspace.declared_limits)
        with session:
            judge = Judge(
                session,
                is_exempt_tool=lambda name: limits.is_exempt(name, declared.for_tool(name)),
                earlier=session.state,
            )
            session.adopt_records(
                record
                for record in self.overview.decisions
                if record.belongs_to(self.workspace.session_id, self.overview.agent_id)
            )
            records = self.source.records(self.progress.begin(stage, self.input.size_bytes))
            for window in cut_windows(records, self.overview.calls):
                judge.judge(window)
        return judge.results

    def refuse_other_output(self) -> None:
        """Make sure that an output which is there already is the one that would be written.

        Raises:
            CommandError: It is another one; nothing has been stored.
        """
        if self.output.compare(()) == "missing":
            return
        results = self.judge(self.workspace.open_rehearsal(), "Comparing")
        expected = output_chunks(self.input, splices_of(self.input, results.edits))
        if self.output.compare(expected) != "other":
            return
        if self.output.is_same_as(self.input.identity):
            raise CommandError(f"output is the input itself: {self.output.path}")
        raise self.output.taken()

    def write(self, results: Results) -> bool:
        """Write the output; tell whether that was necessary.

        Raises:
            CommandError: It cannot be written.
        """
        splices = splices_of(self.input, results.edits)
        if self.output.compare(output_chunks(self.input, splices)) == "same":
            return False
        on_write = self.progress.begin("Writing", self.input.size_bytes)
        chunks = output_chunks(self.input, splices, on_write)
        try:
            self.output.write(chunks, overwrite=self.options.force)
        except OutputTakenError:
            # Another process that judged the same input has come to the same bytes.
            if self.output.compare(output_chunks(self.input, splices)) == "same":
                return False
            raise
        return True


def _choose_session(
    options: ApplyOptions, overview: Overview, opened: Input
) -> tuple[str, SessionIdSource]:
    if overview.session_id is not None:
        return overview.session_id, "records"
    if options.session_id is not None:
        return options.session_id, "option"
    return opened.digest or "", "hash"


def _unused_session_id(options: ApplyOptions, session_id: str) -> str | None:
    return None if options.session_id == session_id else options.session_id


def _output_file(options: ApplyOptions, workspace: Workspace, form: Format) -> OutputFile:
    if options.out is None:
        return OutputFile(
            anchor=workspace.root,
            directories=(workspace.name,),
            name=_OUTPUT_NAMES[form],
            durability=workspace.durability,
            makes_directories=True,
        )
    path = Path(os.path.abspath(options.out))  # noqa: PTH100 - symlinks stay
    return OutputFile(
        anchor=path.parent,
        directories=(),
        name=path.name,
        durability=workspace.durability,
        makes_directories=False,
    )
