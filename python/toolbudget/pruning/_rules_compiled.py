"""How Rust, Go, Java, C, C++, C#, Kotlin and Swift are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolbudget.pruning._grammar import Grammar, Rule, matching, names, rules_for

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["CPP", "CSHARP", "GO", "JAVA", "KOTLIN", "RUST", "SWIFT", "C"]

RUST: Final = Grammar(
    package="tree_sitter_rust",
    comment="//",
    rules=rules_for(
        {
            "import": "use_declaration extern_crate_declaration",
            "type": "mod_item struct_item enum_item union_item trait_item impl_item type_item"
            " foreign_mod_item associated_type",
            "function": "function_item function_signature_item macro_definition",
            "constant": "const_item static_item",
        }
    ),
    bodies=frozenset({"macro_rule"}),
    between=frozenset({"attribute_item"}),
)

GO: Final = Grammar(
    package="tree_sitter_go",
    comment="//",
    rules={
        **rules_for(
            {
                "module": "package_clause",
                "import": "import_declaration",
                "function": "function_declaration method_declaration method_elem",
            }
        ),
        "type_spec": (Rule("type", prefix="type "),),
        "type_alias": (Rule("type", prefix="type "),),
        "const_spec": (Rule("constant", prefix="const "),),
        "var_spec": (Rule("constant", prefix="var "),),
    },
    passed_through=frozenset(
        {"type_declaration", "const_declaration", "var_declaration", "var_spec_list"}
    ),
    named_bodies=frozenset({"struct_type", "interface_type"}),
)

JAVA: Final = Grammar(
    package="tree_sitter_java",
    comment="//",
    rules={
        **rules_for(
            {
                "module": "package_declaration module_declaration",
                "import": "import_declaration",
                "type": "class_declaration interface_declaration enum_declaration"
                " record_declaration annotation_type_declaration",
                "function": "method_declaration constructor_declaration"
                " compact_constructor_declaration annotation_type_element_declaration",
                "constant": "constant_declaration",
            }
        ),
        "field_declaration": (
            Rule("constant", applies=matching(r"(?=[^=;{]*\bstatic\b)[^=;{]*\bfinal\b")),
        ),
    },
    passed_through=frozenset({"enum_body_declarations"}),
)

_MAX_DECLARATORS: Final = 8


def _declares_function(node: Node, _head: bytes) -> bool:
    """Tell whether the innermost declarator is that of a function, behind ``*`` and ``&``."""
    declarator = node.child_by_field_name("declarator")
    for _ in range(_MAX_DECLARATORS):
        if declarator is None:
            return False
        if declarator.type == "function_declarator":
            inner = declarator.child_by_field_name("declarator")
            return inner is None or inner.type != "parenthesized_declarator"
        following = declarator.child_by_field_name("declarator")
        if following is None and declarator.named_child_count:
            following = declarator.named_child(declarator.named_child_count - 1)
        declarator = following
    return False


_C_RULES: Final = {
    **rules_for(
        {
            "import": "preproc_include",
            "type": "struct_specifier union_specifier enum_specifier type_definition",
            "function": "function_definition preproc_function_def",
        }
    ),
    "preproc_def": (
        Rule("constant", applies=matching(r"#\s*define\s+\w+[ \t]+\S")),  # no include guards
    ),
    "declaration": (
        Rule("function", applies=_declares_function),
        Rule("constant", applies=matching(r"(\w+\s+)*?(const|constexpr)\b")),
    ),
}
_C_PASSED_THROUGH: Final = names(
    "preproc_ifdef preproc_if preproc_else preproc_elif preproc_elifdef linkage_specification"
    " declaration_list declaration"
)

C: Final = Grammar(
    package="tree_sitter_c",
    comment="//",
    rules=_C_RULES,
    passed_through=_C_PASSED_THROUGH,
)
CPP: Final = Grammar(
    package="tree_sitter_cpp",
    comment="//",
    rules={
        **_C_RULES,
        **rules_for(
            {
                "import": "using_declaration import_declaration",
                "type": "class_specifier namespace_definition alias_declaration"
                " namespace_alias_definition concept_definition",
            }
        ),
        "field_declaration": _C_RULES["declaration"],
    },
    passed_through=_C_PASSED_THROUGH | {"field_declaration"},
    wrappers=frozenset({"template_declaration"}),
)

CSHARP: Final = Grammar(
    package="tree_sitter_c_sharp",
    comment="//",
    rules={
        **rules_for(
            {
                "import": "using_directive extern_alias_directive",
                "module": "file_scoped_namespace_declaration",
                "type": "namespace_declaration class_declaration interface_declaration"
                " struct_declaration enum_declaration record_declaration delegate_declaration",
                "function": "method_declaration constructor_declaration destructor_declaration"
                " operator_declaration conversion_operator_declaration indexer_declaration"
                " property_declaration event_field_declaration event_declaration",
            }
        ),
        "field_declaration": (
            Rule("constant", applies=matching(r"[^=;{(]*\b(const|static\s+readonly)\b")),
        ),
    },
    passed_through=frozenset({"preproc_if", "preproc_else", "preproc_elif"}),
    bodies=frozenset({"accessor_list", "arrow_expression_clause"}),
)

KOTLIN: Final = Grammar(
    package="tree_sitter_kotlin",
    comment="//",
    rules={
        **rules_for(
            {
                "module": "package_header",
                "import": "import",
                "type": "class_declaration object_declaration companion_object type_alias",
                "function": "function_declaration secondary_constructor",
            }
        ),
        "property_declaration": (
            Rule("constant", applies=matching(r"(\w+\s+)*?const\b")),
            Rule("constant", applies=matching(r"(\w+\s+)*?val\b"), is_only_top_level=True),
        ),
    },
    bodies=frozenset({"class_body", "enum_class_body", "function_body", "block"}),
)


SWIFT: Final = Grammar(
    package="tree_sitter_swift",
    comment="//",
    rules={
        **rules_for(
            {
                "import": "import_declaration",
                "type": "class_declaration protocol_declaration typealias_declaration"
                " associatedtype_declaration",
                "function": "function_declaration init_declaration deinit_declaration"
                " subscript_declaration protocol_function_declaration macro_declaration",
            }
        ),
        "property_declaration": (
            Rule("constant", applies=matching(r"(?=[^=({]*\bstatic\b)[^=({]*\blet\b")),
            Rule("constant", applies=matching(r"[^=({]*\blet\b"), is_only_top_level=True),
        ),
    },
    bodies=frozenset({"computed_property"}),
)
