"""HTML as a browser would take it: read strictly, so that a page that is not well formed fails."""

from html.parser import HTMLParser

VOID = frozenset({"br", "input", "link", "meta"})


class Page(HTMLParser):
    """The links, the tags and the visible text of a page. Raises ValueError where tags do not match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.tags: set[str] = set()
        self._open: list[str] = []
        self._text: list[str] = []
        self.feed(text)
        self.close()
        if self._open:
            raise ValueError(f"never closed: {self._open}")

    @property
    def text(self) -> str:
        """What a reader sees, with single spaces."""
        return " ".join(" ".join(self._text).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag in ("a", "link"):
            self.links.append(dict(attrs)["href"] or "")
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            raise ValueError(f"</{tag}> closes nothing, at {self.getpos()}")

    def handle_data(self, data: str) -> None:
        self._text.append(data)
