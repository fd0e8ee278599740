import re
from pathlib import Path

from api_world import Api

ROUTES = Path(__file__).parents[2] / "docs" / "api.md"


def _documented() -> set[tuple[str, str]]:
    """Every method and path in the tables of the page; `/status` and the like are written out."""
    rows = re.findall(r"^\| ([A-Z, ]+) \| `([^`]+)` \|", ROUTES.read_text(), flags=re.MULTILINE)
    return {(method, path) for methods, path in rows for method in methods.split(", ")}


def test_the_page_of_routes_has_exactly_those_of_the_application(api: Api) -> None:
    served = {
        (method.upper(), path)
        for path, operations in api.app.openapi()["paths"].items()
        for method in operations
    }
    assert _documented() == served


def test_every_route_says_what_it_is_and_how_it_refuses(api: Api) -> None:
    for path, operations in api.app.openapi()["paths"].items():
        for method, operation in operations.items():
            assert operation["summary"], (method, path)
            assert "422" not in operation["responses"] or (
                operation["responses"]["422"]["content"]["application/json"]["schema"]["$ref"].endswith(
                    "/Status"
                )
            ), (method, path)


def test_the_docs_page_needs_no_network(api: Api) -> None:
    page = api.client.get("/docs").text
    assert "<script" not in page
    assert not re.search(r"https?://", page)
    for path in api.app.openapi()["paths"]:
        assert f"<code>{path}</code>" in page


def test_every_part_of_a_path_is_a_parameter(api: Api) -> None:
    for path, operations in api.app.openapi()["paths"].items():
        for method, operation in operations.items():
            named = [each["name"] for each in operation.get("parameters", ()) if each["in"] == "path"]
            assert sorted(named) == sorted(re.findall(r"{(\w+)}", path)), (method, path)


def test_an_explanation_is_described_in_all_its_parts(api: Api) -> None:
    document = api.app.openapi()
    schemas = document["components"]["schemas"]
    parts = set(re.findall(r"#/components/schemas/(\w+)", str(document)))
    assert parts <= set(schemas)
    assert {"Explanation", "TreeNode", "Cause", "Placement", "Look", "Eviction"} <= parts
    assert {"wouldHelp", "nextTry", "placements"} <= set(schemas["Explanation"]["properties"])
