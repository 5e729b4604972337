-- The reference server's tables, as its own documents describe them. @id@, @time@ and @mark@ are
-- what differs between SQLite and PostgreSQL.
CREATE TABLE wl_Comment (
  id @id@, user_id integer, comment text, insertedAt @time@ DEFAULT CURRENT_TIMESTAMP,
  ip varchar(100) DEFAULT '', link varchar(255), mail varchar(255), nick varchar(255),
  pid integer, rid integer, sticky @flag@, status varchar(50) NOT NULL DEFAULT '',
  "like" integer, ua text, url varchar(255),
  createdAt @time@ DEFAULT CURRENT_TIMESTAMP, updatedAt @time@ DEFAULT CURRENT_TIMESTAMP
);
CREATE TABLE wl_Counter (
  id @id@, time integer, reaction0 integer, reaction1 integer, reaction2 integer,
  reaction3 integer, reaction4 integer, reaction5 integer, reaction6 integer, reaction7 integer,
  reaction8 integer, url varchar(255) NOT NULL DEFAULT '',
  createdAt @time@ DEFAULT CURRENT_TIMESTAMP, updatedAt @time@ DEFAULT CURRENT_TIMESTAMP
);
CREATE TABLE wl_Users (
  id @id@, display_name varchar(255) NOT NULL DEFAULT '', email varchar(255) NOT NULL DEFAULT '',
  password varchar(255) NOT NULL DEFAULT '', type varchar(50) NOT NULL DEFAULT '',
  label varchar(255), url varchar(255), avatar varchar(255), github varchar(255),
  twitter varchar(255), facebook varchar(255), google varchar(255), weibo varchar(255),
  qq varchar(255), oidc varchar(255), huawei varchar(255), "2fa" varchar(32),
  createdAt @time@ DEFAULT CURRENT_TIMESTAMP, updatedAt @time@ DEFAULT CURRENT_TIMESTAMP
);
