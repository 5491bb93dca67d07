// SPDX-License-Identifier: Apache-2.0
// The field numbers of onnx.proto, as the ONNX standard fixes them.
#pragma once

#include <protozero/types.hpp>

namespace dycl::onnx::field {

using Tag = protozero::pbf_tag_type;

namespace model {
inline constexpr Tag kIrVersion = 1, kProducerName = 2, kProducerVersion = 3, kGraph = 7, kOpsetImport = 8,
                     kFunctions = 25;
}
namespace function {
inline constexpr Tag kName = 1, kInput = 4, kOutput = 5, kNode = 7, kOpsetImport = 9, kDomain = 10,
                     kAttributeDefault = 11, kValueInfo = 12, kOverload = 13;
}
namespace opset {
inline constexpr Tag kDomain = 1, kVersion = 2;
}
namespace graph {
inline constexpr Tag kNode = 1, kName = 2, kInitializer = 5, kInput = 11, kOutput = 12, kValueInfo = 13,
                     kSparseInitializer = 15;
}
namespace node {
inline constexpr Tag kInput = 1, kOutput = 2, kName = 3, kOpType = 4, kAttribute = 5, kDomain = 7, kOverload = 8;
}
namespace attribute {
inline constexpr Tag kName = 1, kF = 2, kI = 3, kS = 4, kT = 5, kG = 6, kFloats = 7, kInts = 8, kStrings = 9,
                     kTensors = 10, kGraphs = 11, kTypeProto = 14, kTypeProtos = 15, kType = 20, kRefAttrName = 21,
                     kSparseTensor = 22, kSparseTensors = 23;
}
namespace tensor {
inline constexpr Tag kDims = 1, kDataType = 2, kSegment = 3, kFloatData = 4, kInt32Data = 5, kStringData = 6,
                     kInt64Data = 7, kName = 8, kRawData = 9, kDoubleData = 10, kUint64Data = 11, kExternalData = 13,
                     kDataLocation = 14;
}
namespace entry {  // StringStringEntryProto
inline constexpr Tag kKey = 1, kValue = 2;
}
namespace value_info {
inline constexpr Tag kName = 1, kType = 2, kDocString = 3;
}
namespace type {
inline constexpr Tag kTensor = 1, kSequence = 4, kOptional = 9;
inline constexpr Tag kElement = 1;               // of TypeProto.Sequence and TypeProto.Optional
inline constexpr Tag kElemType = 1, kShape = 2;  // of TypeProto.Tensor
}  // namespace type
namespace shape {
inline constexpr Tag kDim = 1;
inline constexpr Tag kDimValue = 1, kDimParam = 2;  // of Dimension
}  // namespace shape

}  // namespace dycl::onnx::field
