import DataConnectModel

/// Foundation has a type of the same name.
typealias Operation = DataConnectModel.Operation
