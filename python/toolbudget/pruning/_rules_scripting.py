"""How Python, JavaScript, TypeScript, Ruby, PHP and Bash are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolbudget.pruning._grammar import Grammar, Rule, matching, names, rules_for

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["BASH", "JAVASCRIPT", "PHP", "PYTHON", "RUBY", "TSX", "TYPESCRIPT"]

PYTHON: Final = Grammar(
    package="tree_sitter_python",
    comment="#",
    rules={
        **rules_for(
            {
                "import": "import_statement import_from_statement future_import_statement",
                "type": "class_definition type_alias_statement",
                "function": "function_definition",
            }
        ),
        "expression_statement": (
            Rule("export", applies=matching(r"__all__\b")),
            Rule("constant", applies=matching(r"[A-Z_][A-Z0-9_]*\s*(:[^=]*)?=(?!=)")),
        ),
    },
    passed_through=names(
        "if_statement elif_clause else_clause try_statement except_clause except_group_clause"
        " finally_clause with_statement for_statement while_statement match_statement"
        " case_clause block"
    ),
    wrappers=frozenset({"decorated_definition"}),
    has_docstrings=True,
)

_FUNCTION_VALUES: Final = {"arrow_function", "function_expression", "generator_function"}


def _has_function_value(node: Node, _head: bytes) -> bool:
    """Tell whether a variable, a field or an assignment gets a function."""
    target: Node | None = node
    if node.type not in {"field_definition", "public_field_definition"}:
        target = node.named_child(0) if node.named_child_count else node
    if target is None:
        return False
    value = target.child_by_field_name("value") or target.child_by_field_name("right")
    return value is not None and value.type in _FUNCTION_VALUES


_FIELD_RULES: Final = (
    Rule("function", applies=_has_function_value),
    Rule("constant", applies=matching(r"(\w+\s+)*?static\b")),
)
_JAVASCRIPT_RULES: Final = {
    **rules_for(
        {
            "import": "import_statement",
            "export": "export_statement",
            "type": "class_declaration",
            "function": "function_declaration generator_function_declaration method_definition",
        }
    ),
    "lexical_declaration": (
        Rule("function", applies=_has_function_value),
        Rule("import", applies=matching(r"(const|let)\s[^=]*=\s*require\s*\(")),
        Rule("constant", applies=matching(r"const\b")),
    ),
    "variable_declaration": (
        Rule("function", applies=_has_function_value),
        Rule("import", applies=matching(r"var\s[^=]*=\s*require\s*\(")),
    ),
    "field_definition": _FIELD_RULES,
    "expression_statement": (
        Rule("export", applies=matching(r"(module\.)?exports\b[^=(]*=(?!=)")),
        Rule("function", applies=_has_function_value),
    ),
}
_JAVASCRIPT_PASSED_THROUGH: Final = names(
    "expression_statement call_expression parenthesized_expression arguments function_expression"
    " arrow_function statement_block if_statement else_clause try_statement catch_clause"
    " unary_expression"
)

JAVASCRIPT: Final = Grammar(
    package="tree_sitter_javascript",
    comment="//",
    rules=_JAVASCRIPT_RULES,
    passed_through=_JAVASCRIPT_PASSED_THROUGH,
    wrappers=frozenset({"export_statement"}),
    between=frozenset({"decorator"}),
)
TYPESCRIPT: Final = Grammar(
    package="tree_sitter_typescript",
    entry_point="language_typescript",
    comment="//",
    rules={
        **_JAVASCRIPT_RULES,
        **rules_for(
            {
                "type": "abstract_class_declaration interface_declaration enum_declaration"
                " type_alias_declaration internal_module module",
                "function": "function_signature method_signature abstract_method_signature"
                " call_signature construct_signature",
            }
        ),
        "public_field_definition": _FIELD_RULES,
    },
    passed_through=_JAVASCRIPT_PASSED_THROUGH,
    wrappers=frozenset({"export_statement", "ambient_declaration"}),
    between=frozenset({"decorator"}),
)
TSX: Final = Grammar(
    package=TYPESCRIPT.package,
    entry_point="language_tsx",
    comment=TYPESCRIPT.comment,
    rules=TYPESCRIPT.rules,
    passed_through=TYPESCRIPT.passed_through,
    wrappers=TYPESCRIPT.wrappers,
    between=TYPESCRIPT.between,
)

RUBY: Final = Grammar(
    package="tree_sitter_ruby",
    comment="#",
    rules={
        **rules_for(
            {"type": "class module singleton_class", "function": "method singleton_method"}
        ),
        "call": (
            Rule("import", applies=matching(r"(require|require_relative|load|autoload)\b")),
            Rule("import", applies=matching(r"(include|extend|prepend)\s")),
            Rule("constant", applies=matching(r"attr_(reader|writer|accessor)\b")),
        ),
        "assignment": (Rule("constant", applies=matching(r"[A-Z]\w*\s*=")),),
    },
    closing_word=" end",
    passed_through=frozenset({"body_statement", "if", "unless", "begin", "then", "else"}),
)

PHP: Final = Grammar(
    package="tree_sitter_php",
    entry_point="language_php",
    comment="//",
    rules={
        **rules_for(
            {
                "import": "namespace_use_declaration use_declaration",
                "type": "class_declaration interface_declaration trait_declaration"
                " enum_declaration namespace_definition",
                "function": "function_definition method_declaration",
                "constant": "const_declaration",
            }
        ),
        "expression_statement": (
            Rule("import", applies=matching(r"(require|include)(_once)?\b")),
            Rule("constant", applies=matching(r"define\s*\(")),
        ),
    },
    passed_through=frozenset({"if_statement", "compound_statement", "else_clause"}),
)

BASH: Final = Grammar(
    package="tree_sitter_bash",
    comment="#",
    rules={
        **rules_for({"function": "function_definition"}),
        "command": (Rule("import", applies=matching(r"(source|\.)\s")),),
        "declaration_command": (
            Rule("export", applies=matching(r"export\s")),
            Rule("constant", applies=matching(r"readonly\s|declare\s+-\w*r")),
        ),
        "variable_assignment": (Rule("constant", applies=matching(r"[A-Z_][A-Z0-9_]*=")),),
    },
    passed_through=names("if_statement elif_clause else_clause list compound_statement subshell"),
)
