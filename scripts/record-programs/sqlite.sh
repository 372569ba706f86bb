#!/bin/sh
# SQLite in memory: a table of rows (100,000 if not given), an index, queries by key and a sum of all.
rows=${1:-100000}
exec sqlite3 :memory: "
create table t (id integer primary key, word text, number integer);
with recursive c(i) as (select 1 union all select i + 1 from c where i < $rows)
insert into t select i, hex(i * 2654435761 % 4294967296) || hex(i * 40503), i * 7919 % ($rows + 3) from c;
create index by_number on t (number);
select count(*) from t as x join t as y on y.number = (x.id * 31 % $rows);
select sum(length(word)), sum(number) from t;
update t set number = number + 1 where id % 3 = 0;
select max(number) from t;"
