"""Export: ONNX in fp32 and int8, the SparseEncoder layout, and the model card."""
