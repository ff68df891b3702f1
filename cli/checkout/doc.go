// Package checkout answers one question: WHERE ARE THE SOURCES OF THE ENGINE?
//
// Operators are compiled with them, the local control plane is built from them, and the tools whose dependencies an operator
// shall not have are run from the module in their folder tools. The module is not published: its sources are a checkout.
package checkout
