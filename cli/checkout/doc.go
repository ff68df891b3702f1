// Package checkout answers one question: WHERE ARE THE SOURCES OF THE ENGINE?
//
// Operators are compiled with the sources, and the local control plane is built from them. Tools whose dependencies an operator must
// not have are run from the module in the folder tools. The module is not published: its sources are a checkout.
package checkout
