"""When, and by how many people, pages and the site were viewed. README.md describes the files."""
