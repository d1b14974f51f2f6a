;
select 1;select "a;b";;
-- x; y
select 3 /* ; */;