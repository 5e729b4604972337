-- Whose a stored body is: the account that its first line names, and the author's key in tallies,
-- which is its last line; `-` for what there is not. Nothing else of a body is read by scripts.

local function author_of(body)
  local account = string.match(body, '^"user_id":"([^"\n]*)"') or ''
  local author = string.match(string.sub(body, -100), '\n([^\n]*)$') or ''
  return account == '' and '-' or account, author == '' and '-' or author
end
