-- Is a comment with this body a reply below this root, or a root if `root` is empty; and does it reply
-- to `parent`, unless that is empty? The body of each reply names both. Quotes in texts are escaped
-- there, so no text can look like that.

local function is_below(stored, root, parent)
  local has_root = string.find(stored, '","rid":"' .. root, 1, true) ~= nil
  local has_parent = parent == '' or string.find(stored, '"pid":"' .. parent, 1, true) ~= nil
  return has_root == (root ~= '') and has_parent
end
