"""Emission: trees and scopes in, a graph out whose variables are loads and stores, with names and types resolved."""
