"""A check that passes and one that fails."""

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import sanity_function


class Common(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]  # noqa: RUF012
    valid_prog_environs = ["*"]  # noqa: RUF012
    executable = "echo"
    executable_opts = ["hello"]  # noqa: RUF012
    time_limit = "2m"


@rfm.simple_test
class Hello(Common):
    @sanity_function
    def is_said(self):
        return sn.assert_found("hello", self.stdout)


@rfm.simple_test
class Wrong(Common):
    @sanity_function
    def is_said(self):
        return sn.assert_found("farewell", self.stdout)
