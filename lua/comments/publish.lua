-- Store and index one comment, unless the same author has posted the same text before.
--
-- KEYS    version      string  {p}:version       raised by every change of the page
--         path         string  {p}:path          the article's path, which its digest does not tell
--         bodies       hash    {p}:bodies        comment id -> JSON that everybody may see
--         private      hash    {p}:private       comment id -> JSON for administrators
--         newest       zset    {p}:newest        approved roots by insertion time (ms)
--         liked        zset    {p}:liked         the same roots by like count
--         pinned       zset    {p}:pinned        pinned roots; a new one is not pinned
--         likes        hash    {p}:likes         comment id -> likes; a new one has none
--         replies      zset    {p}:replies       approved replies, member <root>:<id>, score 0
--         held         hash    {p}:held          comment id -> waiting | spam
--         heldroots    zset    {p}:heldroots     held roots by insertion time (ms)
--         heldliked    zset    {p}:heldliked     the same roots by like count
--         heldreplies  zset    {p}:heldreplies   held replies, member <root>:<id>, score 0
--         mine         zset    {p}:mine:<account>  held comments of this comment's author, by time
--         fingerprints hash    {p}:fingerprints  fingerprint of author and words -> comment id
--         longest      string  {p}:longest       bytes of the page's longest body so far; missing
--                                                if it is not known
--         outbox       stream  {p}:outbox        events that are not in the site's outbox yet
--         withdrawn    zset    {p}:withdrawn     held comments that were approved before; score
--                                                1 if people know of it, 0 if nobody was told
-- ARGV    id           text    sorts by age, so that members with equal scores do
--         at           int     insertion time, ms since the epoch; the new version is at least this
--         article      text    the path
--         body         json    opaque here
--         secrets      json    opaque here
--         status       text    approved | waiting | spam
--         parent       text    id of the comment replied to, empty for a root
--         root         text    id of the root replied under, empty for a root
--         owner        flag    the author has an account
--         fingerprint  text    of author and text; empty: duplicates are allowed
--         liking       int     its likes, if it is put back; 0 for a new one
--         pin          flag    it is pinned, likewise
--         seen         text    its score in `withdrawn`, likewise; empty: it was never approved
--         by           text    author; empty: nobody is told of it
-- RETURNS OK version visible   stored; visible is the page's number of approved comments
--         DUPLICATE id         this comment has the same author and text
--         TAKEN                the id exists already
--         ORPHAN               the parent does not exist
-- INCLUDE place indexes version record_event
-- COST    O(log n)

local version, path, bodies, private = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local newest, liked, pinned, likes, replies = KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local held, heldroots, heldliked = KEYS[10], KEYS[11], KEYS[12]
local heldreplies, mine = KEYS[13], KEYS[14]
local fingerprints, longest, outbox, withdrawn = KEYS[15], KEYS[16], KEYS[17], KEYS[18]
local id, at, article, body, secrets, status = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local parent, root, owner, fingerprint = ARGV[7], ARGV[8], ARGV[9], ARGV[10]
local liking, pin, seen, by = tonumber(ARGV[11]), ARGV[12], ARGV[13], ARGV[14]

local same = fingerprint ~= '' and redis.call('HGET', fingerprints, fingerprint)
if same then
  return {'DUPLICATE', same}
end
if parent ~= '' and redis.call('HEXISTS', bodies, parent) == 0 then
  return {'ORPHAN'}
end
if redis.call('HSETNX', bodies, id, body) == 0 then
  return {'TAKEN'}
end
local is_first = redis.call('HLEN', bodies) == 1
local known = is_first and '0' or redis.call('GET', longest)
if known and #body > tonumber(known) then
  redis.call('SET', longest, #body)
end
redis.call('SET', path, article)
redis.call('HSET', private, id, secrets)
if fingerprint ~= '' then
  redis.call('HSET', fingerprints, fingerprint, id)
end

if status ~= 'approved' then
  redis.call('HSET', held, id, status)
end
if seen ~= '' then
  redis.call('ZADD', withdrawn, seen, id)
end
if liking > 0 then
  redis.call('HSET', likes, id, liking)
end
index_comment(status, pin == '1', liking)

local visible = redis.call('HLEN', bodies) - redis.call('HLEN', held)
local raised = raise_version(version, at)
record_event('', status, raised, '')
return {'OK', raised, visible}
