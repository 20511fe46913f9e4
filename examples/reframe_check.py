"""A ReFrame test of a GPU-aware ping-pong: its latency at 8 B and its bandwidth at 1 GiB."""

import reframe as rfm
import reframe.utility.sanity as sn


@rfm.simple_test
class AwarePingPong(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "wirespeed"
    executable_opts = ["pingpong", "--paths", "aware", "--sizes", "8,1G", "--format", "reframe"]
    local = True  # wirespeed starts its ranks by itself

    @sanity_function
    def measured(self):
        return sn.assert_not_found(r"^wirespeed: .* failed=", self.stdout)

    @performance_function("us")
    def latency(self):
        return sn.extractsingle(
            r"^wirespeed: .*path=aware .*bytes=8 .*latency_us=(?P<us>\S+)", self.stdout, "us", float
        )

    @performance_function("GB/s")
    def bandwidth(self):
        return sn.extractsingle(
            r"path=aware .*bytes=1073741824 .*bandwidth_GBps=(?P<GBps>\S+)", self.stdout, "GBps", float
        )
