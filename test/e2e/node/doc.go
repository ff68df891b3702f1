// Package node answers one question: HOW DO PROGRAMS AND IMAGES BECOME A CLUSTER OF ONE REAL NODE, AND HOW DOES IT END?
//
// All of it runs in namespaces of its own: processes, mounts and the network, out of which nothing leads. The first process
// of the namespace follows the pipe that this process holds. When this process ends, however it does, the kernel ends all
// others with it, and with them their mounts and network. What the kernel leaves are a folder and cgroups; both have fixed
// names, and the next start removes what a killed one has left.
package node
