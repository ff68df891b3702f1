// Package node starts a cluster of one real node from programs and images.
//
// All of it runs in separate namespaces: processes, mounts and the network, which has no route to the outside. The first process
// of the namespace follows the pipe that this process holds. When this process ends, however it does, the kernel ends all others
// with it, and with them their mounts and network. Only a folder and cgroups remain. Both have fixed names, and the next start
// removes what a killed one has left.
package node
