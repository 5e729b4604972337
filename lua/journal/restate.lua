-- Append the state of some comments to their page's journal, so that the site follows it again.
--
-- KEYS    version  string  {p}:version
--         bodies   hash    {p}:bodies
--         held     hash    {p}:held
--         pinned   zset    {p}:pinned
--         hidden   hash    {p}:hidden
--         deleted  zset    {p}:deleted
--         journal  stream  {p}:journal
-- ARGV    now      int     ms since the epoch: the new version is at least this
--         by       text    check
--         actor    text    empty
--         comments...[3] text of each in turn: its id, and an account and an author whose lists may
--                          have it wrongly; `-` for none
-- RETURNS OK version entries  the journal's oldest entries
-- INCLUDE status_of version author_of count_visible record unapplied
-- COST    O(comments), and the bytes of their bodies

local changes = {}

for i = ARGV_BEFORE + 1, #comments, ARGV_EACH do
  local id, account_was, author_was = comments[i], comments[i + 1], comments[i + 2]
  local body, status, account, author = redis.call('HGET', bodies, id), status_of(id), '-', '-'
  if body then
    account, author = author_of(body)
  end
  if not body or (status == 'deleted' and not redis.call('ZSCORE', deleted, id)) then
    status = 'gone'
  end
  local pin = redis.call('ZSCORE', pinned, id) and '1' or '0'
  changes[#changes + 1] = {
    id, status, status, '-', pin, pin, account_was, account, author_was, author,
  }
end
local raised = raise_version(version, now)
record(raised, 'restate', changes, '')
return {'OK', raised, unapplied()}
