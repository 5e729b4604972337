CREATE TABLE threads (id INTEGER PRIMARY KEY, uri VARCHAR UNIQUE, title VARCHAR);
CREATE TABLE comments (tid REFERENCES threads(id), id INTEGER PRIMARY KEY, parent INTEGER, created FLOAT NOT NULL, modified FLOAT, mode INTEGER, remote_addr VARCHAR, text VARCHAR NOT NULL, author VARCHAR, email VARCHAR, website VARCHAR, likes INTEGER DEFAULT 0, dislikes INTEGER DEFAULT 0, voters BLOB NOT NULL, notification INTEGER DEFAULT 0);
INSERT INTO threads VALUES (1, '/hello/', 'Hello'), (2, '/日本/', 'Japan');
INSERT INTO comments VALUES (1, 1, NULL, 1635425415.0, NULL, 1, '203.0.113.0', 'First **post**', 'Ann', 'ann@example.com', NULL, 3, 0, x'00', 0);
INSERT INTO comments VALUES (1, 2, 1, 1635425475.25, NULL, 1, '203.0.113.0', 'Thanks, **Ann**', 'Bob', 'bob@example.com', 'https://bob.example', 0, 1, x'00', 0);
INSERT INTO comments VALUES (1, 3, 2, 1635425535.0, NULL, 1, '203.0.113.0', 'Me too', 'Cy', NULL, NULL, 1, 0, x'00', 0);
INSERT INTO comments VALUES (1, 4, NULL, 1635425595.0, NULL, 2, '203.0.113.0', 'Hold me', 'Dee', 'dee@example.com', NULL, 0, 0, x'00', 0);
INSERT INTO comments VALUES (2, 6, NULL, 1635425715.0, NULL, 4, '0.0.0.0', '', NULL, NULL, NULL, 0, 0, x'00', 0);
INSERT INTO comments VALUES (9, 7, NULL, 1635425715.0, NULL, 1, '0.0.0.0', 'Lost', NULL, NULL, NULL, 0, 0, x'00', 0);
