//! Whether a statement only reads, by a list of known words and functions. The others are writes.

use contend_sql::{Mode, Token, TokenKind, Tokens};

/// Words that only stand in statements that change or lock something.
const WRITES: [&[u8]; 14] = [
    b"INTO",
    b"UPDATE",
    b"DELETE",
    b"PROCEDURE",
    b"CALL",
    b"DROP",
    b"ALTER",
    b"TRUNCATE",
    b"GRANT",
    b"REVOKE",
    b"LOAD",
    b"HANDLER",
    b"RENAME",
    b"LOCK",
];
/// Words of the language that an opening parenthesis may follow, and that name no stored function
/// without quotes.
const BEFORE_PARENTHESIS: [&[u8]; 79] = [
    b"ALL",
    b"AND",
    b"ANY",
    b"AS",
    b"ASC",
    b"BETWEEN",
    b"BINARY",
    b"BY",
    b"CASE",
    b"CHAR",
    b"CHARACTER",
    b"CROSS",
    b"DATETIME",
    b"DEC",
    b"DECIMAL",
    b"DESC",
    b"DISTINCT",
    b"DISTINCTROW",
    b"DIV",
    b"DOUBLE",
    b"ELSE",
    b"END",
    b"EXCEPT",
    b"EXISTS",
    b"FLOAT",
    b"FOR",
    b"FROM",
    b"GROUP",
    b"HAVING",
    b"HIGH_PRIORITY",
    b"IF",
    b"IN",
    b"INDEX",
    b"INNER",
    b"INTERSECT",
    b"INTERVAL",
    b"IS",
    b"JOIN",
    b"KEY",
    b"LEFT",
    b"LIKE",
    b"LIMIT",
    b"MATCH",
    b"MOD",
    b"NATURAL",
    b"NCHAR",
    b"NOT",
    b"NUMERIC",
    b"OFFSET",
    b"ON",
    b"OR",
    b"ORDER",
    b"OUTER",
    b"OVER",
    b"PARTITION",
    b"REGEXP",
    b"REPLACE",
    b"RIGHT",
    b"RLIKE",
    b"ROW",
    b"ROWS",
    b"SELECT",
    b"SIGNED",
    b"SOME",
    b"SQL_CALC_FOUND_ROWS",
    b"STRAIGHT_JOIN",
    b"THEN",
    b"TIME",
    b"UNION",
    b"UNIQUE",
    b"UNSIGNED",
    b"USING",
    b"VALUE",
    b"VALUES",
    b"VARCHAR",
    b"WHEN",
    b"WHERE",
    b"WITH",
    b"XOR",
];
/// Functions of both servers that change nothing and wait for nothing.
const FUNCTIONS: &str = "ABS ACOS ADDTIME ANY_VALUE ASCII ASIN ATAN ATAN2 AVG BIN BIN_TO_UUID BIT_COUNT BIT_LENGTH \
    CEIL CEILING CHARACTER_LENGTH CHARSET CHAR_LENGTH CHR COALESCE COERCIBILITY COLLATION CONCAT \
    CONCAT_WS CONNECTION_ID CONV CONVERT CONVERT_TZ COS COT CRC32 CRC32C CURRENT_DATE \
    CURRENT_ROLE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER DATABASE DATE DATEDIFF DATE_FORMAT \
    DAY DAYNAME DAYOFMONTH DAYOFWEEK DAYOFYEAR DEGREES ELT EXP EXPORT_SET EXTRACTVALUE FIELD \
    FIND_IN_SET FLOOR FORMAT FOUND_ROWS FROM_BASE64 FROM_DAYS FROM_UNIXTIME GEOMFROMTEXT \
    GET_FORMAT GREATEST GROUPING HEX HOUR IFNULL INET6_ATON INET6_NTOA INET_ATON INET_NTOA INSERT \
    INSTR ISNULL IS_IPV4 IS_IPV6 IS_UUID JSON_ARRAY JSON_ARRAY_APPEND JSON_ARRAY_INSERT \
    JSON_COMPACT JSON_CONTAINS JSON_CONTAINS_PATH JSON_DEPTH JSON_DETAILED JSON_EXISTS \
    JSON_EXTRACT JSON_INSERT JSON_KEYS JSON_LENGTH JSON_LOOSE JSON_MERGE JSON_MERGE_PATCH \
    JSON_MERGE_PRESERVE JSON_NORMALIZE JSON_OBJECT JSON_OVERLAPS JSON_PRETTY JSON_QUERY \
    JSON_QUOTE JSON_REMOVE JSON_REPLACE JSON_SEARCH JSON_SET JSON_STORAGE_SIZE JSON_TABLE \
    JSON_TYPE JSON_UNQUOTE JSON_VALID JSON_VALUE LAST_DAY LCASE LEAST LENGTH LENGTHB LN LOCALTIME \
    LOCALTIMESTAMP LOCATE LOG LOG10 LOG2 LOWER LPAD LTRIM MAKEDATE MAKETIME MAKE_SET MD5 \
    MICROSECOND MINUTE MONTH MONTHNAME NATURAL_SORT_KEY NULLIF NVL NVL2 OCT OCTET_LENGTH ORD \
    PERIOD_ADD PERIOD_DIFF PI POINT POW POWER QUARTER QUOTE RADIANS RAND REGEXP_INSTR REGEXP_LIKE \
    REGEXP_REPLACE REGEXP_SUBSTR REPEAT REVERSE ROUND ROW_COUNT RPAD RTRIM SCHEMA SECOND \
    SEC_TO_TIME SHA SHA1 SHA2 SIGN SIN SOUNDEX SPACE SQRT STRCMP STR_TO_DATE ST_AREA ST_ASBINARY \
    ST_ASTEXT ST_ASWKB ST_ASWKT ST_CONTAINS ST_DISTANCE ST_DISTANCE_SPHERE ST_EQUALS \
    ST_GEOMFROMTEXT ST_INTERSECTS ST_LATITUDE ST_LENGTH ST_LONGITUDE ST_SRID ST_WITHIN ST_X ST_Y \
    SUBSTRING_INDEX SUBTIME TAN TIMEDIFF TIMESTAMP TIMESTAMPADD TIMESTAMPDIFF TIME_FORMAT \
    TIME_TO_SEC TO_BASE64 TO_CHAR TO_DAYS TO_SECONDS UCASE UNHEX UNIX_TIMESTAMP UPPER USER \
    UTC_DATE UTC_TIME UTC_TIMESTAMP UUID UUID_SHORT UUID_TO_BIN VERSION WEEK WEEKDAY WEEKOFYEAR \
    WEIGHT_STRING YEAR YEARWEEK";
/// Likewise; with blanks in front of the parenthesis they are stored functions of that name.
const CLOSE_FUNCTIONS: &str = "ADDDATE BIT_AND BIT_OR BIT_XOR CAST COUNT CUME_DIST CURDATE CURTIME DATE_ADD DATE_SUB \
    DENSE_RANK EXTRACT FIRST_VALUE GROUP_CONCAT JSON_ARRAYAGG JSON_OBJECTAGG LAG LAST_VALUE LEAD \
    MAX MEDIAN MID MIN NOW NTH_VALUE NTILE PERCENTILE_CONT PERCENTILE_DISC PERCENT_RANK POSITION \
    RANK ROW_NUMBER SESSION_USER STD STDDEV STDDEV_POP STDDEV_SAMP SUBDATE SUBSTR SUBSTRING SUM \
    SYSDATE SYSTEM_USER TRIM VARIANCE VAR_POP VAR_SAMP";
/// What SHOW may show; the rest needs privileges, or ends or resets something.
const SHOWN: [&[u8]; 17] = [
    b"TABLES",
    b"COLUMNS",
    b"FIELDS",
    b"INDEX",
    b"INDEXES",
    b"KEYS",
    b"VARIABLES",
    b"STATUS",
    b"WARNINGS",
    b"ERRORS",
    b"COUNT",
    b"DATABASES",
    b"SCHEMAS",
    b"COLLATION",
    b"CHARSET",
    b"ENGINES",
    b"PROCESSLIST",
];

/// Whether a statement only reads tables that its user may read: not `FOR UPDATE`, `INTO`, an
/// assignment, an executable comment, or a function that is not known to be harmless.
pub fn only_reads(statement: &[u8], mode: Mode) -> bool {
    let mut code = Vec::new();
    for token in Tokens::new(statement, mode) {
        match token.kind {
            TokenKind::RunsFrom
            | TokenKind::RunsTo
            | TokenKind::Skipped
            | TokenKind::Unterminated
            | TokenKind::Placeholder => return false,
            TokenKind::Comment if sets_variable(token.text) => return false,
            TokenKind::Space | TokenKind::Comment => {}
            _ => code.push(token),
        }
    }
    while code.last().is_some_and(|token| token.is_operator(b";")) {
        code.pop();
    }
    let parentheses = code.iter().take_while(|token| token.is_operator(b"("));
    let statement = code.get(parentheses.count()..).unwrap_or_default();
    match statement.first() {
        Some(first) if first.is_word(b"SELECT") || first.is_word(b"WITH") => {}
        Some(first) if first.is_word(b"SHOW") => return shows(statement) && are_harmless(&code),
        Some(first) if is_one_of(first, &[b"EXPLAIN", b"DESCRIBE", b"DESC"]) => {
            if !statement.get(1).is_some_and(|next| next.is_word(b"SELECT")) {
                return false;
            }
        }
        _ => return false,
    }
    are_harmless(&code)
}

fn is_one_of(token: &Token<'_>, words: &[&[u8]]) -> bool {
    words.iter().any(|word| token.is_word(word))
}

/// A hint that changes a variable for its statement.
fn sets_variable(comment: &[u8]) -> bool {
    comment.starts_with(b"/*+")
        && comment
            .windows(7)
            .any(|part| part.eq_ignore_ascii_case(b"SET_VAR"))
}

fn shows(statement: &[Token<'_>]) -> bool {
    let mut words = statement.iter().skip(1).skip_while(|token| {
        is_one_of(
            token,
            &[b"FULL", b"GLOBAL", b"SESSION", b"LOCAL", b"EXTENDED"],
        )
    });
    match (words.next(), words.next()) {
        (Some(first), next) if first.is_word(b"TABLE") => {
            next.is_some_and(|next| next.is_word(b"STATUS"))
        }
        (Some(first), next) if first.is_word(b"CREATE") => {
            next.is_some_and(|next| next.is_word(b"TABLE"))
        }
        (Some(first), next) if first.is_word(b"CHARACTER") => {
            next.is_some_and(|next| next.is_word(b"SET"))
        }
        (Some(first), _) => is_one_of(first, &SHOWN),
        (None, _) => false,
    }
}

/// No word, sign or call that may change something.
fn are_harmless(code: &[Token<'_>]) -> bool {
    let at = |place: usize| code.get(place);
    code.iter().enumerate().all(|(place, token)| {
        let before = place.checked_sub(1).and_then(at);
        let is_part = before.is_some_and(|before| before.is_operator(b"."));
        // MySQL takes an `@` with a blank behind it for a variable without a name.
        let is_variable = before.is_some_and(|before| {
            (before.is_operator(b"@") || before.is_operator(b"@@")) && before.end() == token.start
        });
        let next = at(place + 1);
        let is_call = next.is_some_and(|next| next.is_operator(b"("));
        match token.kind {
            TokenKind::Operator => !matches!(token.text, b":=" | b";"),
            TokenKind::Word if is_variable => true,
            // A sequence's `s.NEXTVAL`, in Oracle mode.
            TokenKind::Name | TokenKind::Word if is_part => !is_call && !token.is_word(b"NEXTVAL"),
            TokenKind::Name => !is_call || is_common_table(code, place),
            TokenKind::Word => {
                let next_is = |word| next.is_some_and(|next| next.is_word(word));
                let is_sequence = token.is_word(b"NEXT") || token.is_word(b"PREVIOUS");
                !is_one_of(token, &WRITES)
                    && !(token.is_word(b"FOR") && (next_is(b"UPDATE") || next_is(b"SHARE")))
                    && !(is_sequence && next_is(b"VALUE"))
                    && (!is_call || is_known_call(code, place))
            }
            _ => true,
        }
    })
}

fn is_known_call(code: &[Token<'_>], place: usize) -> bool {
    let (Some(name), Some(open)) = (code.get(place), code.get(place + 1)) else {
        return false;
    };
    let first = code.get(place + 2);
    let is_empty = first.is_some_and(|first| first.is_operator(b")"));
    let is_query = first.is_some_and(|first| is_one_of(first, &[b"SELECT", b"WITH"]));
    is_one_of(name, &BEFORE_PARENTHESIS)
        || name.is_word(b"LATERAL") && is_query
        || name.is_word(b"LAST_INSERT_ID") && is_empty
        || is_listed(name, FUNCTIONS)
        || is_listed(name, CLOSE_FUNCTIONS) && name.end() == open.start
        || is_common_table(code, place)
}

fn is_listed(name: &Token<'_>, names: &str) -> bool {
    let mut names = names.split_ascii_whitespace();
    names.any(|listed| name.is_word(listed.as_bytes()))
}

/// `WITH name (columns) AS (`, and further ones behind a comma.
fn is_common_table(code: &[Token<'_>], place: usize) -> bool {
    let before = place.checked_sub(1).and_then(|before| code.get(before));
    let may_be = before.is_some_and(|before| {
        is_one_of(before, &[b"WITH", b"RECURSIVE"]) || before.is_operator(b",")
    });
    let rest = code.get(place + 1..).unwrap_or_default();
    let close = rest.iter().position(|token| token.is_operator(b")"));
    let behind = close.and_then(|close| rest.get(close + 1..));
    let begins = behind.is_some_and(|behind| {
        behind.first().is_some_and(|token| token.is_word(b"AS"))
            && behind.get(1).is_some_and(|token| token.is_operator(b"("))
    });
    may_be && begins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_to_read_reads() {
        for text in [
            "SELECT 1",
            "(SELECT a FROM t) UNION ALL (SELECT b FROM u) ORDER BY 1 LIMIT 3",
            "/* x */ select count(*), Max(a) FROM t WHERE b IN (1,2) AND (c = 'FOR UPDATE')",
            "WITH RECURSIVE x(n) AS (SELECT 1 UNION SELECT n+1 FROM x), y (m) AS (SELECT 2) SELECT 1",
            "WITH x AS (SELECT 1) SELECT * FROM x -- INTO",
            "SELECT t.`update`, t.delete, `into` FROM t FORCE INDEX FOR JOIN (k) WHERE @a = 1",
            "SELECT SUBSTRING(a FROM 1 FOR 2), REPLACE(a,'x','y'), INSERT(a,1,1,'z'), LAST_INSERT_ID()",
            "SHOW FULL TABLES LIKE 'a'",
            "SHOW CREATE TABLE t",
            "EXPLAIN SELECT 1",
            "SELECT @@version_comment, NOW(6), IF(a,1,2), LEFT(b,1), CAST(a AS CHAR(3));",
            "SELECT SUM(a) OVER (PARTITION BY b ORDER BY c) FROM t",
            "SELECT ABS (a), @a, @@b FROM t, LATERAL (SELECT 1) x",
        ] {
            assert!(only_reads(text.as_bytes(), Mode::default()), "{text}");
        }
    }

    #[test]
    fn everything_else_counts_as_a_write() {
        for text in [
            "",
            "INSERT INTO t VALUES (1)",
            "SELECT * FROM t FOR UPDATE",
            "SELECT * FROM t for /**/ share",
            "SELECT * FROM t LOCK IN SHARE MODE",
            "SELECT 1 INTO @a",
            "SELECT 1 INTO OUTFILE 'x'",
            "SELECT @a := 1",
            "SELECT GET_LOCK('a', 1)",
            "SELECT get_lock ('a', 1)",
            "SELECT SLEEP(1)",
            "SELECT my_function(1)",
            "SELECT `count`(1)",
            "SELECT db.now(1)",
            "SELECT LAST_INSERT_ID(5)",
            "SELECT NEXT VALUE FOR s",
            "SELECT NEXTVAL(s)",
            "SELECT s.nextval FROM dual",
            "SELECT DEFAULT(a) FROM t",
            "SELECT @ INTO OUTFILE 'x'",
            "SELECT a FROM t WHERE a = @/**/for update",
            "SELECT COUNT (a) FROM t",
            "SELECT 1, SQL_NO_CACHE(a) FROM t",
            "SELECT escape(1)",
            "SELECT 1, LATERAL((SELECT 1))",
            "SELECT 1 /*!50000 , 2 */",
            "SELECT 1 /*M!100000 , 2 */",
            "SELECT 1 /*!99999 , 2 */",
            "SELECT /*+ SET_VAR(a=1) */ 1",
            "WITH x AS (SELECT 1) DELETE FROM t",
            "WITH x AS (SELECT 1) UPDATE t SET a = 1",
            "SELECT 1; DROP TABLE t",
            "SELECT a FROM t PROCEDURE ANALYSE()",
            "EXPLAIN ANALYZE DELETE FROM t",
            "ANALYZE SELECT 1",
            "SHOW ENGINE INNODB STATUS",
            "SHOW MASTER STATUS",
            "CALL p()",
            "DO 1",
            "SET @a = 1",
            "(((",
            "SELECT 'open",
            "SELECT ?",
        ] {
            assert!(!only_reads(text.as_bytes(), Mode::default()), "{text}");
        }
    }
}
