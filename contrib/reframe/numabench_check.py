# A ReFrame check (4.x): the rates of each GPU as performance variables, held against ReFrame's references where the system has them.
#
#   reframe -c numabench_check.py -r
#
# NUMABENCH_OPTIONS, where it is set, stands instead of the options below. Rates are read from the document's `rows`, not from the table.
import json
import os
import re

import reframe as rfm
import reframe.utility.sanity as sn


@rfm.simple_test
class NumabenchCheck(rfm.RunOnlyRegressionTest):
    descr = 'Host-device bandwidth of every GPU, with its placement proven'
    valid_systems = ['*']
    valid_prog_environs = ['*']
    executable = 'numabench'
    num_tasks = 1

    @run_before('run')
    def set_options(self):
        options = os.environ.get('NUMABENCH_OPTIONS', '--order alone --size 64MiB --direction h2d,d2h')
        self.executable_opts = ['pingpong', '--json', 'result.json'] + options.split()

    def rows(self):
        with open(os.path.join(self.stagedir, 'result.json')) as file:
            return json.load(file)['rows']

    @sanity_function
    def every_case_was_measured(self):
        return sn.assert_true(all(row['status'] == 'measured' for row in self.rows()))

    @run_before('performance')
    def set_variables(self):
        # ReFrame takes a name apart at its colons, and PCI addresses have some.
        self.perf_variables = {
            re.sub('[^A-Za-z0-9]', '_', f"{row['direction']}_{row['device']}"):
                sn.make_performance_function(sn.defer(row['median_bytes_per_s'] / 1e9), 'GB/s')
            for row in self.rows()
        }
