"""The sample database `employees`."""

from __future__ import annotations

from contend.settings.schemas.model import Schema, of_data
from contend.settings.values import Flag, Key

_EMPLOYEES = 300_024

SCHEMA = Schema(
    "employees",
    database="employees",
    tables=(*("employees", "departments", "dept_manager", "dept_emp"), *("titles", "salaries")),
    views=("dept_emp_latest_date", "current_dept_emp"),
    more=("rows",),
    own=(
        of_data(
            Key(
                "emp_no_keys",
                Flag(),
                False,
                "of employees: the plain keys on emp_no that its release 1.0.6 had beside the "
                "primary keys",
            )
        ),
    ),
    rows=_EMPLOYEES,
    rows_least=100,
    rows_each=3_919_015 / _EMPLOYEES,
    row_bytes=60,
)
