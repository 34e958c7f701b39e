// Generated from the headers by bindings/generate.py; do not edit.

package ztensor

// #include <ztensor_advanced.h>
import "C"

// DType is a storage type; ztensor.h describes each.
type DType int32

// Values of DType.
const (
	DTypeOther DType = C.ZT_DTYPE_OTHER
	DTypeF64   DType = C.ZT_DTYPE_F64
	DTypeF32   DType = C.ZT_DTYPE_F32
	DTypeF16   DType = C.ZT_DTYPE_F16
	DTypeBF16  DType = C.ZT_DTYPE_BF16
	DTypeI64   DType = C.ZT_DTYPE_I64
	DTypeI32   DType = C.ZT_DTYPE_I32
	DTypeI16   DType = C.ZT_DTYPE_I16
	DTypeI8    DType = C.ZT_DTYPE_I8
	DTypeU64   DType = C.ZT_DTYPE_U64
	DTypeU32   DType = C.ZT_DTYPE_U32
	DTypeU16   DType = C.ZT_DTYPE_U16
	DTypeU8    DType = C.ZT_DTYPE_U8
	DTypeBool  DType = C.ZT_DTYPE_BOOL
)

// Type is a logical type; ztensor.h describes each.
type Type int32

// Values of Type.
const (
	TypeNone       Type = C.ZT_TYPE_NONE
	TypeF8E4M3FN   Type = C.ZT_TYPE_F8_E4M3FN
	TypeF8E5M2     Type = C.ZT_TYPE_F8_E5M2
	TypeF8E4M3FNUZ Type = C.ZT_TYPE_F8_E4M3FNUZ
	TypeF8E5M2FNUZ Type = C.ZT_TYPE_F8_E5M2FNUZ
	TypeComplex64  Type = C.ZT_TYPE_COMPLEX64
	TypeComplex128 Type = C.ZT_TYPE_COMPLEX128
	TypeOther      Type = C.ZT_TYPE_OTHER
	TypeF8E8M0     Type = C.ZT_TYPE_F8_E8M0
	TypeF4E2M1     Type = C.ZT_TYPE_F4_E2M1
	TypeF6E2M3     Type = C.ZT_TYPE_F6_E2M3
	TypeF6E3M2     Type = C.ZT_TYPE_F6_E3M2
	TypeComplex32  Type = C.ZT_TYPE_COMPLEX32
	TypeGGUFQ4_0   Type = C.ZT_TYPE_GGUF_Q4_0
	TypeGGUFQ4_1   Type = C.ZT_TYPE_GGUF_Q4_1
	TypeGGUFQ5_0   Type = C.ZT_TYPE_GGUF_Q5_0
	TypeGGUFQ5_1   Type = C.ZT_TYPE_GGUF_Q5_1
	TypeGGUFQ8_0   Type = C.ZT_TYPE_GGUF_Q8_0
	TypeGGUFQ8_1   Type = C.ZT_TYPE_GGUF_Q8_1
	TypeGGUFQ2K    Type = C.ZT_TYPE_GGUF_Q2_K
	TypeGGUFQ3K    Type = C.ZT_TYPE_GGUF_Q3_K
	TypeGGUFQ4K    Type = C.ZT_TYPE_GGUF_Q4_K
	TypeGGUFQ5K    Type = C.ZT_TYPE_GGUF_Q5_K
	TypeGGUFQ6K    Type = C.ZT_TYPE_GGUF_Q6_K
	TypeGGUFQ8K    Type = C.ZT_TYPE_GGUF_Q8_K
	TypeGGUFIQ2XXS Type = C.ZT_TYPE_GGUF_IQ2_XXS
	TypeGGUFIQ2XS  Type = C.ZT_TYPE_GGUF_IQ2_XS
	TypeGGUFIQ3XXS Type = C.ZT_TYPE_GGUF_IQ3_XXS
	TypeGGUFIQ1S   Type = C.ZT_TYPE_GGUF_IQ1_S
	TypeGGUFIQ4NL  Type = C.ZT_TYPE_GGUF_IQ4_NL
	TypeGGUFIQ3S   Type = C.ZT_TYPE_GGUF_IQ3_S
	TypeGGUFIQ2S   Type = C.ZT_TYPE_GGUF_IQ2_S
	TypeGGUFIQ4XS  Type = C.ZT_TYPE_GGUF_IQ4_XS
	TypeGGUFIQ1M   Type = C.ZT_TYPE_GGUF_IQ1_M
	TypeGGUFTQ1_0  Type = C.ZT_TYPE_GGUF_TQ1_0
	TypeGGUFTQ2_0  Type = C.ZT_TYPE_GGUF_TQ2_0
	TypeGGUFMXFP4  Type = C.ZT_TYPE_GGUF_MXFP4
	TypeGGUFNVFP4  Type = C.ZT_TYPE_GGUF_NVFP4
	TypeGGUFQ1_0   Type = C.ZT_TYPE_GGUF_Q1_0
	TypeGGUFQ2_0   Type = C.ZT_TYPE_GGUF_Q2_0
)

// Format is a layout of components; ztensor.h describes each.
type Format int32

// Values of Format.
const (
	FormatOther          Format = C.ZT_FORMAT_OTHER
	FormatDense          Format = C.ZT_FORMAT_DENSE
	FormatSparseCSR      Format = C.ZT_FORMAT_SPARSE_CSR
	FormatSparseCOO      Format = C.ZT_FORMAT_SPARSE_COO
	FormatQuantizedGroup Format = C.ZT_FORMAT_QUANTIZED_GROUP
	FormatBlocks         Format = C.ZT_FORMAT_BLOCKS
)

// Encoding is how bytes are stored; ztensor.h describes each.
type Encoding int32

// Values of Encoding.
const (
	EncodingDefault      Encoding = C.ZT_ENCODING_DEFAULT
	EncodingRaw          Encoding = C.ZT_ENCODING_RAW
	EncodingZstd         Encoding = C.ZT_ENCODING_ZSTD
	EncodingOther        Encoding = C.ZT_ENCODING_OTHER
	EncodingDeflate      Encoding = C.ZT_ENCODING_DEFLATE
	EncodingZstdSeekable Encoding = C.ZT_ENCODING_ZSTD_SEEKABLE
)

// Mode is how a file's bytes are reached; ztensor.h describes each.
type Mode int32

// Values of Mode.
const (
	ModeMap     Mode = C.ZT_MODE_MAP
	ModeRead    Mode = C.ZT_MODE_READ
	ModeAuto    Mode = C.ZT_MODE_AUTO
	ModePrivate Mode = C.ZT_MODE_PRIVATE
)

// Advice is what will be done with bytes; ztensor.h describes each.
type Advice uint32

// Values of Advice.
const (
	AdviceNone       Advice = C.ZT_ADVICE_NONE
	AdviceSequential Advice = C.ZT_ADVICE_SEQUENTIAL
	AdviceWillneed   Advice = C.ZT_ADVICE_WILLNEED
	AdvicePopulate   Advice = C.ZT_ADVICE_POPULATE
	AdviceEvict      Advice = C.ZT_ADVICE_EVICT
	AdviceRelease    Advice = C.ZT_ADVICE_RELEASE
)

// Container is how a file is laid out; ztensor.h describes each.
type Container int32

// Values of Container.
const (
	ContainerNone        Container = C.ZT_CONTAINER_NONE
	ContainerZT0_1       Container = C.ZT_CONTAINER_ZT_0_1
	ContainerZT1_0       Container = C.ZT_CONTAINER_ZT_1_0
	ContainerZT1_1       Container = C.ZT_CONTAINER_ZT_1_1
	ContainerZT1_2       Container = C.ZT_CONTAINER_ZT_1_2
	ContainerZT2         Container = C.ZT_CONTAINER_ZT_2
	ContainerSafetensors Container = C.ZT_CONTAINER_SAFETENSORS
	ContainerGGUF        Container = C.ZT_CONTAINER_GGUF
	ContainerNPZ         Container = C.ZT_CONTAINER_NPZ
	ContainerTorch       Container = C.ZT_CONTAINER_TORCH
)

// Kind is what kind of thing a value is; ztensor.h describes each.
type Kind int32

// Values of Kind.
const (
	KindNull   Kind = C.ZT_VALUE_KIND_NULL
	KindBool   Kind = C.ZT_VALUE_KIND_BOOL
	KindInt    Kind = C.ZT_VALUE_KIND_INT
	KindFloat  Kind = C.ZT_VALUE_KIND_FLOAT
	KindString Kind = C.ZT_VALUE_KIND_STRING
	KindBytes  Kind = C.ZT_VALUE_KIND_BYTES
	KindArray  Kind = C.ZT_VALUE_KIND_ARRAY
	KindMap    Kind = C.ZT_VALUE_KIND_MAP
	KindTag    Kind = C.ZT_VALUE_KIND_TAG
	KindOther  Kind = C.ZT_VALUE_KIND_OTHER
)

// Direct is whether reads go past the page cache; ztensor.h describes each.
type Direct int32

// Values of Direct.
const (
	DirectAuto   Direct = C.ZT_DIRECT_AUTO
	DirectNever  Direct = C.ZT_DIRECT_NEVER
	DirectAlways Direct = C.ZT_DIRECT_ALWAYS
)

// Digest is a checksum; ztensor.h describes each.
type Digest int32

// Values of Digest.
const (
	DigestDefault Digest = C.ZT_DIGEST_DEFAULT
	DigestNone    Digest = C.ZT_DIGEST_NONE
	DigestCRC32C  Digest = C.ZT_DIGEST_CRC32C
	DigestSHA256  Digest = C.ZT_DIGEST_SHA256
	DigestXXH3    Digest = C.ZT_DIGEST_XXH3
)

// CachePolicy is which slice of a cache is evicted when a slot is needed; ztensor.h describes each.
type CachePolicy int32

// Values of CachePolicy.
const (
	CachePolicyLRU  CachePolicy = C.ZT_CACHE_LRU
	CachePolicySLRU CachePolicy = C.ZT_CACHE_SLRU
)

// Spec is a version of the spec to write; ztensor.h describes each.
type Spec uint32

// Values of Spec.
const (
	SpecDefault Spec = C.ZT_SPEC_DEFAULT
	Spec0_1_0   Spec = C.ZT_SPEC_0_1_0
	Spec1_1_0   Spec = C.ZT_SPEC_1_1_0
	Spec1_2_0   Spec = C.ZT_SPEC_1_2_0
	Spec2       Spec = C.ZT_SPEC_2
)

// Cap is a set of what would work on a component; ztensor.h describes each.
type Cap uint32

// Values of Cap.
const (
	CapMap           Cap = C.ZT_CAP_MAP
	CapRead          Cap = C.ZT_CAP_READ
	CapRange         Cap = C.ZT_CAP_RANGE
	CapDirect        Cap = C.ZT_CAP_DIRECT
	CapVerify        Cap = C.ZT_CAP_VERIFY
	CapPageExclusive Cap = C.ZT_CAP_PAGE_EXCLUSIVE
)

// Check is a set of what to verify; ztensor.h describes each.
type Check uint32

// Values of Check.
const (
	CheckDigests        Check = C.ZT_VERIFY_DIGESTS
	CheckContents       Check = C.ZT_VERIFY_CONTENTS
	CheckPadding        Check = C.ZT_VERIFY_PADDING
	CheckShards         Check = C.ZT_VERIFY_SHARDS
	CheckRequireDigests Check = C.ZT_VERIFY_REQUIRE_DIGESTS
)
