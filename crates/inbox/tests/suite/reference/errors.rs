//! The one table of error codes.

use inbox_core::Code;
use inbox_core::error::Retry;

use super::{page, table};

const ABOUT: &str = "\
A refusal has a code for programs, a message for people and, where there is something to do, a hint.
`code` and `details` are stable; `message` and `hint` are not. With `--json` it is the answer on
standard output; otherwise it is two lines on standard error:

```json
{\"ok\":false,\"error\":{\"code\":\"lease_conflict\",\"message\":\"…\",\"hint\":\"…\",\"details\":{}}}
```

Exit 10 is not in this table: nothing to claim, nothing found and a wait that timed out are outcomes,
and `ok` is true. Bad usage is exit 30 like any other bad input.";

pub(super) fn document() -> String {
    let rows = Code::ALL.iter().map(|code| {
        vec![
            format!("`{code}`"),
            code.exit().to_string(),
            code.http().to_string(),
            retry(code.retry()).to_owned(),
            code.meaning().to_owned(),
        ]
    });
    let headings = ["code", "exit", "HTTP", "retry", "meaning"];
    let mut body = table(&headings, rows);
    body.push_str(
        "\n`retry` says whether the same command can help: *now* with the same `--key`, *later* when\n\
         somebody else is done, *never* without a change.\n",
    );
    page("Errors", ABOUT, &body)
}

const fn retry(retry: Retry) -> &'static str {
    match retry {
        Retry::Never => "never",
        Retry::Later => "later",
        Retry::Now => "now",
    }
}
