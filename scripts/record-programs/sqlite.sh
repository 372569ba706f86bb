#!/bin/sh
# SQLite in memory: a table of 100,000 rows, an index, queries by key and a sum of all.
exec sqlite3 :memory: "
create table t (id integer primary key, word text, number integer);
with recursive c(i) as (select 1 union all select i + 1 from c where i < 100000)
insert into t select i, hex(i * 2654435761 % 4294967296) || hex(i * 40503), i * 7919 % 100003 from c;
create index by_number on t (number);
select count(*) from t as x join t as y on y.number = (x.id * 31 % 100003);
select sum(length(word)), sum(number) from t;
update t set number = number + 1 where id % 3 = 0;
select max(number) from t;"
