-- The account in a body's first line, and the author's key in tallies in its last line; `-` for
-- none. Scripts read nothing else of a body.

local function author_of(body)
  local account = string.match(body, '^"user_id":"([^"\n]*)"') or ''
  local author = string.match(string.sub(body, -100), '\n([^\n]*)$') or ''
  return account == '' and '-' or account, author == '' and '-' or author
end
