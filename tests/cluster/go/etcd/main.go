// Command etcd is etcd's own main, which `go install` refuses to build because its module has replaces.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
