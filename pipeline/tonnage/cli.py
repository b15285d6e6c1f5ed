"""The command line: one function a command, which reads its arguments, calls one function, and prints what it gives.

Results go to stdout, progress and errors to stderr. Exit 0: done; 1: the work failed; 2: wrong usage; 130:
Ctrl-C. An error is one sentence; --debug shows where it was raised.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Annotated, Any

import typer

from tonnage.errors import TonnageError, UsageError
from tonnage.recipe import json_schema, load_recipe

app = typer.Typer(
    help="Raw web pages, text and code to tokenized training shards, with a documented mixture.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

INTERRUPTED = 130

RecipeArgument = Annotated[str, typer.Argument(metavar="RECIPE", help="A recipe file (YAML).")]
RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="The folder of a run.")]
OutOption = Annotated[
    str | None, typer.Option("--out", metavar="DIR", help="Folder of the run; runs/NAME if not given.")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change one key of the recipe, as in seed=3 or mixture.budget=2M."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON with a stable shape.")]


def run_folder(name: str, out: str | None) -> str:
    """Where a recipe's run lies."""
    return out if out is not None else f"runs/{name}"


def print_json(content: Any) -> None:
    print(json.dumps(content, indent=1, ensure_ascii=False))


@app.command(epilog="Example: tonnage run recipes/quickstart.yaml --workers 4")
def run(
    recipe: RecipeArgument,
    out: OutOption = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Worker processes; one a core if not given.")] = None,
    engine: Annotated[
        str,
        typer.Option(
            metavar="ENGINE",
            help="Where workers run: local, or ray for the Ray cluster at RAY_ADDRESS (if unset, Ray on this machine).",
        ),
    ] = "local",
    until: Annotated[
        str, typer.Option(metavar="STAGE", help="Stop after documents, columns, selection, tokens, mixture or export.")
    ] = "export",
    set_: SetOption = None,
) -> None:
    """Run a recipe; give the same command again to go on where it stopped."""
    from tonnage.inspect.report import run_report
    from tonnage.inspect.tables import console_for, print_table
    from tonnage.plan import make_plan
    from tonnage.run import check_damage
    from tonnage.run.on_engine import run_on_engine

    loaded = load_recipe(recipe, set_ or [])
    root = run_folder(loaded.name, out)
    record = run_on_engine(make_plan(loaded), root, engine, workers, until)
    console = console_for(sys.stdout)
    for table in run_report(root, record):
        print_table(console, table)
        console.print()
    console.print(f"Run: {root}", soft_wrap=True)
    check_damage(record)


@app.command(epilog="Example: tonnage plan recipes/quickstart.yaml --set annotate.quality.buckets=4")
def plan(recipe: RecipeArgument, out: OutOption = None, set_: SetOption = None, as_json: JsonOption = False) -> None:
    """Show what a run would do, what it would reuse, and why something is not reused."""
    from tonnage.inspect.report import plan_json, plan_table
    from tonnage.inspect.tables import console_for, print_table
    from tonnage.plan import make_plan
    from tonnage.reuse import states
    from tonnage.run import check

    loaded = load_recipe(recipe, set_ or [])
    planned = make_plan(loaded)
    check(planned)
    found = states(run_folder(loaded.name, out), planned)
    if as_json:
        print_json(plan_json(planned, found))
    else:
        print_table(console_for(sys.stdout), plan_table(planned, found))


@app.command(epilog="Example: tonnage stats runs/quickstart --by rule")
def stats(
    run: RunArgument,
    by: Annotated[
        str | None, typer.Option(metavar="TABLE", help="source, rule, cell or shard; all but shard if not given.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what was read, dropped and kept, by source, rule, cell or shard."""
    from tonnage.inspect.stats import overview, stats_json, table_by
    from tonnage.inspect.tables import console_for, print_table
    from tonnage.inspect.view import open_run

    view = open_run(run)
    if as_json:
        print_json(stats_json(view.content))
        return
    console = console_for(sys.stdout)
    for table in [table_by(run, view.content, by)] if by is not None else overview(run, view.content):
        print_table(console, table)
        console.print()


@app.command(epilog="Example: tonnage show runs/quickstart --dropped gopher-dup-lines -n 3")
def show(
    run: RunArgument,
    dropped: Annotated[
        str | None, typer.Option(metavar="RULE", help="Documents dropped by this rule, or 'any'.")
    ] = None,
    kept: Annotated[
        bool, typer.Option("--kept", help="Kept documents (this is what you get without a choice).")
    ] = False,
    cell: Annotated[str | None, typer.Option(metavar="CELL", help="Kept documents of one cell.")] = None,
    rejects: Annotated[str | None, typer.Option(metavar="SOURCE", help="What could not be read of a source.")] = None,
    duplicates: Annotated[
        bool, typer.Option("--duplicates", help="Fuzzy duplicates beside what they fall for, differences marked.")
    ] = False,
    count: Annotated[int, typer.Option("-n", min=1, help="How many.")] = 5,
) -> None:
    """Show documents: kept, dropped by a rule with the numbers that decided, of a cell, duplicates, or rejects."""
    from tonnage.inspect import show as showing
    from tonnage.inspect.tables import console_for, print_documents, print_pairs
    from tonnage.inspect.view import open_run

    if sum([dropped is not None, kept, cell is not None, rejects is not None, duplicates]) > 1:
        raise UsageError("give only one of --dropped, --kept, --cell, --duplicates and --rejects")
    view = open_run(run)
    if duplicates:
        print_pairs(console_for(sys.stdout), showing.duplicate_pairs(view, count))
        return
    if rejects is not None:
        found = showing.rejects(view, rejects, count)
    else:
        found = showing.documents(view, dropped=dropped, cell=cell, count=count)
    print_documents(console_for(sys.stdout), found)


@app.command(epilog="Example: tonnage why runs/quickstart guides/00000:17")
def why(
    run: RunArgument,
    document: Annotated[
        str,
        typer.Argument(metavar="ID", help="An id or its first 8 digits, your own id, or an address as web/00000:17."),
    ],
) -> None:
    """Explain one document: how every step of the run dealt with it."""
    from tonnage.inspect.tables import console_for, print_table
    from tonnage.inspect.view import open_run
    from tonnage.inspect.why import why as explain

    print_table(console_for(sys.stdout), explain(open_run(run), document))


@app.command(epilog="Example: tonnage mix runs/quickstart --json")
def mix(
    target: Annotated[str, typer.Argument(metavar="RUN|RECIPE", help="A run, or a recipe whose run has its tokens.")],
    out: OutOption = None,
    set_: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the mixture: weight, sequences, tokens and epochs of every cell, a phase and in total."""
    from tonnage.inspect.mix import mixture_of_recipe, mixture_of_run, mixture_tables
    from tonnage.inspect.tables import console_for, print_table

    if target.endswith((".yaml", ".yml")):
        loaded = load_recipe(target, set_ or [])
        content = mixture_of_recipe(loaded, run_folder(loaded.name, out))
    else:
        content = mixture_of_run(target)
    if as_json:
        print_json(content)
        return
    console = console_for(sys.stdout)
    for table in mixture_tables(content):
        print_table(console, table)
        console.print()


@app.command(epilog="Example: tonnage export runs/quickstart --to megatron --out build/megatron")
def export(
    run: RunArgument,
    to: Annotated[str, typer.Option("--to", metavar="FORMAT", help="megatron or parquet; several with commas.")],
    out: Annotated[
        str,
        typer.Option("--out", metavar="DIR", help="Folder for the export; with several formats, one below it each."),
    ],
    text: Annotated[bool, typer.Option("--text", help="parquet: add each document's text.")] = False,
) -> None:
    """Write the run's token shards in a trainer's format."""
    from tonnage.inspect.exporting import export_run
    from tonnage.inspect.tables import console_for, print_lines

    print_lines(console_for(sys.stdout), export_run(run, to.split(","), out, text=text))


@app.command(epilog="Example: tonnage verify runs/quickstart")
def verify(run: RunArgument) -> None:
    """Compute everything a run claims again from its files; exit 1 when anything differs."""
    from tonnage.inspect.report import verify_run
    from tonnage.inspect.tables import console_for, print_lines
    from tonnage.inspect.view import open_run

    print_lines(console_for(sys.stdout), verify_run(open_run(run)))


@app.command(epilog="Example: tonnage recipes")
def recipes(folder: Annotated[str, typer.Argument(help="Folder with recipes.")] = "recipes") -> None:
    """List the recipes in a folder, and the rule presets."""
    from tonnage.inspect.report import recipe_tables
    from tonnage.inspect.tables import console_for, print_table

    console = console_for(sys.stdout)
    for table in recipe_tables(folder):
        print_table(console, table)
        console.print()


@app.command(epilog="Example: tonnage schema > recipe.schema.json")
def schema(
    columns: Annotated[bool, typer.Option("--columns", help="List the columns that rules may read.")] = False,
) -> None:
    """Print the JSON Schema of a recipe, for editors; or the columns that rules may read."""
    if columns:
        from tonnage.inspect.report import columns_table
        from tonnage.inspect.tables import console_for, print_table

        print_table(console_for(sys.stdout), columns_table())
    else:
        print_json(json_schema())


def main(arguments: list[str] | None = None) -> None:
    """The `tonnage` command: errors as one sentence on stderr, exit codes as the module says."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    given = [argument for argument in given if argument != "--debug"]
    try:
        app(given, prog_name="tonnage")
    except TonnageError as fault:
        if debug:
            raise
        print(f"tonnage: {fault}", file=sys.stderr)
        sys.exit(fault.exit_code)
    except SystemExit as end:
        if end.code == INTERRUPTED:  # typer makes this of a Ctrl-C, and says nothing
            print("tonnage: stopped; give the same command again to go on", file=sys.stderr)
        raise
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
