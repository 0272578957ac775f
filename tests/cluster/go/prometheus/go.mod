module hpcbatch.io/tests/cluster/prometheus

go 1.24.0

tool (
	github.com/prometheus/prometheus/cmd/prometheus
	github.com/prometheus/prometheus/cmd/promtool
)

require github.com/prometheus/prometheus v0.304.0
