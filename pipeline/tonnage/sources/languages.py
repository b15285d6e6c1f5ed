"""The programming language of a file by its name, and which names leave it unclear. Content is looked at in code.py.

Language names are those of GitHub Linguist in lower case; prose and data formats have names too (markdown, json, text).
"""

from __future__ import annotations

from typing import NamedTuple

from tonnage.sources.containers import inner_name

_EXTENSIONS = {
    "actionscript": "as",
    "ada": "ada adb ads",
    "agda": "agda",
    "antlr": "g4",
    "apl": "apl dyalog",
    "applescript": "applescript scpt",
    "arduino": "ino",
    "asciidoc": "adoc asciidoc",
    "assembly": "asm s nasm a51",
    "astro": "astro",
    "autohotkey": "ahk",
    "awk": "awk gawk mawk",
    "batchfile": "bat cmd",
    "bazel": "bzl bazel",
    "bibtex": "bib",
    "bicep": "bicep",
    "bison": "yy ypp yxx",
    "c": "c",
    "c#": "cs csx cake",
    "c++": "cpp cc cxx c++ hpp hh hxx h++ inl ipp tcc tpp cppm ixx",
    "cairo": "cairo",
    "clojure": "clj cljs cljc edn",
    "cmake": "cmake",
    "cobol": "cob cbl cobol cpy",
    "coffeescript": "coffee litcoffee",
    "common lisp": "lisp lsp asd cl",
    "coq": "coq",
    "crystal": "cr",
    "css": "css",
    "csv": "csv",
    "cuda": "cu cuh",
    "cue": "cue",
    "cython": "pyx pxd pxi",
    "dart": "dart",
    "devicetree": "dts dtsi",
    "dhall": "dhall",
    "diff": "diff patch",
    "dockerfile": "dockerfile containerfile",
    "elixir": "ex exs",
    "elm": "elm",
    "emacs lisp": "el",
    "erb": "erb",
    "erlang": "erl hrl escript",
    "f#": "fsi fsx",
    "fish": "fish",
    "flex": "lex ll",
    "fortran": "f f77 f90 f95 f03 f08 for ftn fpp",
    "gettext catalog": "po pot",
    "glsl": "glsl vert frag geom comp tesc tese",
    "gdscript": "gd",
    "go": "go",
    "graphql": "graphql gql graphqls",
    "groovy": "groovy gradle gvy",
    "handlebars": "hbs handlebars",
    "haskell": "hs lhs hsc",
    "haxe": "hx",
    "hcl": "hcl tf tfvars",
    "hlsl": "hlsl fx fxh",
    "html": "html htm xhtml xht",
    "idl": "idl webidl",
    "idris": "idr",
    "ini": "ini cfg prefs properties editorconfig",
    "janet": "janet",
    "java": "java",
    "java server pages": "jsp",
    "javascript": "js mjs cjs jsx es6",
    "jinja": "jinja jinja2 j2",
    "json": "json geojson webmanifest jsonl ndjson json5 jsonc avsc har topojson",
    "jsonnet": "jsonnet libsonnet",
    "julia": "jl",
    "jupyter notebook": "ipynb",
    "kotlin": "kt kts",
    "lean": "lean",
    "less": "less",
    "liquid": "liquid",
    "llvm": "ll",
    "lua": "lua luau",
    "m4": "m4 ac",
    "makefile": "mk mak make",
    "markdown": "md markdown mdown mdx rmd",
    "matlab": "mlx",
    "meson": "meson",
    "metal": "metal",
    "mlir": "mlir",
    "nim": "nim nims nimble",
    "nix": "nix",
    "objective-c++": "mm",
    "ocaml": "ml mli mll mly eliom",
    "odin": "odin",
    "opencl": "opencl",
    "org": "org",
    "pascal": "pas dpr lpr dfm",
    "perl": "pm pod psgi plx ph",
    "php": "php php3 php4 php5 phtml phps",
    "plantuml": "puml plantuml",
    "postscript": "ps eps",
    "powershell": "ps1 psm1 psd1",
    "prisma": "prisma",
    "prolog": "plt yap",
    "protocol buffer": "proto",
    "pug": "pug jade",
    "puppet": "epp",
    "purescript": "purs",
    "python": "py pyi pyw gyp gypi wsgi rpy",
    "qml": "qml",
    "r": "r rsx",
    "racket": "rkt rktl rktd",
    "raku": "raku rakumod p6 pl6 pm6",
    "rescript": "res resi",
    "restructuredtext": "rst rest",
    "roff": "roff man 1 2 3 4 5 6 7 8 me ms",
    "ruby": "rb rake gemspec ru podspec rbw jbuilder",
    "rust": "rs",
    "sas": "sas",
    "sass": "sass",
    "scala": "scala sbt",
    "scheme": "scm ss sld sps",
    "scss": "scss",
    "sed": "sed",
    "shell": "sh bash zsh ksh bats ebuild command",
    "smalltalk": "st",
    "solidity": "sol",
    "sparql": "sparql rq",
    "sql": "sql psql plsql pgsql ddl",
    "standard ml": "sml sig fun",
    "stan": "stan",
    "starlark": "star",
    "stylus": "styl",
    "svelte": "svelte",
    "svg": "svg",
    "swift": "swift",
    "systemverilog": "sv svh",
    "tcl": "tcl tk itcl",
    "terra": "terra",
    "tex": "tex sty ltx dtx ins bbx cbx",
    "text": "txt text",
    "texinfo": "texi texinfo txi",
    "thrift": "thrift",
    "toml": "toml",
    "tsv": "tsv tab",
    "turtle": "ttl",
    "tsx": "tsx",
    "typescript": "mts cts",
    "vala": "vala vapi",
    "vhdl": "vhd vhdl",
    "vim script": "vim",
    "visual basic .net": "vb vbhtml",
    "vue": "vue",
    "webassembly": "wat wast",
    "wgsl": "wgsl",
    "xml": "xml xsd xsl xslt rng wsdl xaml csproj vbproj vcxproj fsproj plist rss atom rdf page mxml ui qrc kml",
    "yacc": "y",
    "yaml": "yaml yml",
    "yang": "yang",
    "zig": "zig zon",
}

_NAMES = {
    "ruby": "gemfile rakefile guardfile podfile vagrantfile capfile fastfile brewfile berksfile",
    "makefile": "makefile gnumakefile bsdmakefile kbuild makefile.am makefile.in",
    "dockerfile": "dockerfile containerfile",
    "cmake": "cmakelists.txt",
    "meson": "meson.build meson_options.txt",
    "bazel": "build build.bazel workspace workspace.bazel module.bazel",
    "groovy": "jenkinsfile",
    "python": "sconstruct sconscript wscript",
    "m4": "configure.ac configure.in",
    "go module": "go.mod go.work",
    "text": "readme license licence copying authors contributors changelog changes news todo install notice thanks "
    "requirements.txt",
    "toml": "pipfile cargo.lock poetry.lock uv.lock",
    "json": "composer.lock pipfile.lock .babelrc .eslintrc",
    "yaml": ".clang-format .clang-tidy",
    "shell": ".bashrc .bash_profile .profile .zshrc pkgbuild",
    "just": "justfile",
    "kconfig": "kconfig",
}


class Guess(NamedTuple):
    """The language that a name says; `candidates` are the languages it may be when the name alone does not say."""

    language: str | None
    candidates: tuple[str, ...] = ()


# Extensions that several languages share; the first is taken when the content does not decide.
_UNCLEAR = {
    "h": ("c", "c++", "objective-c"),
    "m": ("objective-c", "matlab"),
    "pl": ("perl", "prolog"),
    "pro": ("prolog", "qmake", "idl"),
    "t": ("perl", "turing"),
    "v": ("verilog", "coq"),
    "fs": ("f#", "glsl", "forth"),
    "ts": ("typescript", "xml"),
    "pp": ("puppet", "pascal"),
    "d": ("d", "makefile"),
    "cls": ("tex", "apex", "visual basic 6.0"),
    "bas": ("vba", "visual basic 6.0"),
    "l": ("flex", "common lisp"),
    "sc": ("scala", "supercollider"),
    "mod": ("modula-2", "xml"),
    "rl": ("ragel",),
    "inc": (),
    "cgi": (),
    "fcgi": (),
    "in": (),
    "conf": (),
    "tmpl": (),
    "tpl": (),
    "template": (),
    "j": (),
    "e": (),
    "q": (),
    "x": (),
}

_SHEBANGS = {
    "python": "python",
    "pypy": "python",
    "sh": "shell",
    "bash": "shell",
    "dash": "shell",
    "zsh": "shell",
    "ksh": "shell",
    "ash": "shell",
    "fish": "fish",
    "perl": "perl",
    "ruby": "ruby",
    "node": "javascript",
    "nodejs": "javascript",
    "deno": "typescript",
    "bun": "typescript",
    "php": "php",
    "lua": "lua",
    "luajit": "lua",
    "tclsh": "tcl",
    "wish": "tcl",
    "awk": "awk",
    "gawk": "awk",
    "sed": "sed",
    "make": "makefile",
    "rscript": "r",
    "runhaskell": "haskell",
    "stack": "haskell",
    "groovy": "groovy",
    "scala": "scala",
    "elixir": "elixir",
    "escript": "erlang",
    "julia": "julia",
    "ocaml": "ocaml",
    "racket": "racket",
    "guile": "scheme",
    "swift": "swift",
    "osascript": "applescript",
    "pwsh": "powershell",
    "crystal": "crystal",
    "raku": "raku",
    "expect": "tcl",
}

# Labels of the content model that have another name here.
_LABELS = {
    "appleplist": "xml",
    "asm": "assembly",
    "batch": "batchfile",
    "bib": "bibtex",
    "cpp": "c++",
    "cs": "c#",
    "csproj": "xml",
    "gemfile": "ruby",
    "gemspec": "ruby",
    "gradle": "groovy",
    "ipynb": "jupyter notebook",
    "jsonl": "json",
    "latex": "tex",
    "lisp": "common lisp",
    "objectivec": "objective-c",
    "po": "gettext catalog",
    "proto": "protocol buffer",
    "randomtxt": "text",
    "rdf": "xml",
    "rst": "restructuredtext",
    "textproto": "protocol buffer text",
    "txt": "text",
    "vcxproj": "xml",
}


def _by_word(table: dict[str, str]) -> dict[str, str]:
    return {word: language for language, words in table.items() for word in words.split()}


EXTENSION_LANGUAGES = _by_word(_EXTENSIONS)
NAME_LANGUAGES = _by_word(_NAMES)


def guess(path: str) -> Guess:
    """What the name of a file says about its language; a container's ending does not count."""
    name = inner_name(path.rpartition("/")[2]).lower()
    if name in NAME_LANGUAGES:
        return Guess(NAME_LANGUAGES[name])
    stem, dot, extension = name.rpartition(".")
    if not dot:
        return Guess(None)
    if extension in _UNCLEAR:
        return Guess(None, _UNCLEAR[extension])
    if extension.isdigit() and not stem:
        return Guess(None)
    language = EXTENSION_LANGUAGES.get(extension)
    if language is None and name.startswith(("dockerfile.", "makefile.")):
        language = name.partition(".")[0]
    return Guess(language)


def of_shebang(text: str) -> str | None:
    """The language of the interpreter that a first line names, None without such a line."""
    if not text.startswith("#!"):
        return None
    words = text[2:200].partition("\n")[0].split()
    if words and words[0].rpartition("/")[2] == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    if not words:
        return None
    program = words[0].rpartition("/")[2].lower()
    return _SHEBANGS.get(program) or _SHEBANGS.get(program.rstrip("0123456789."))


def of_label(label: str) -> str | None:
    """The language of a label of the content model, None when the model does not know."""
    return None if label in ("unknown", "undefined", "empty") else _LABELS.get(label, label)
