"""When, and by how many people, pages and the site were viewed. README.md says what is where."""
