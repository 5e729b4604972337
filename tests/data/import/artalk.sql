CREATE TABLE pages (id INTEGER PRIMARY KEY, created_at DATETIME, updated_at DATETIME, deleted_at DATETIME, "key" TEXT, title TEXT, admin_only NUMERIC, site_name TEXT, vote_up INTEGER, vote_down INTEGER, pv INTEGER);
INSERT INTO pages VALUES (1, '2021-10-28 20:50:15', '2021-10-28 20:50:15', NULL, 'https://blog.example/hello/', 'Hello', 0, 'Blog', 0, 0, 120);
INSERT INTO pages VALUES (2, '2021-10-28 20:50:15', '2021-10-28 20:50:15', NULL, '/日本/', 'Japan, again', 0, 'Blog', 0, 0, 7);
INSERT INTO pages VALUES (3, '2021-10-28 20:50:15', '2021-10-28 20:50:15', '2021-10-29 20:50:15', '/gone/', 'Gone', 0, 'Blog', 0, 0, 3);
