// SPDX-License-Identifier: Apache-2.0
// Lists own their members: destroying a list destroys them.
#include <cstdint>

#include "aclnn/acl_meta.h"
#include "nnopbase/refuse.h"
#include "nnopbase/tables.h"
#include "opdev/op_errno.h"

namespace canopy::nnopbase {
namespace {

// A member may be NULL, as an absent tensor is; any other must be alive.
template <typename List, typename Members, HandleKind kList, typename Member, typename MemberTable>
List* Create(const char* function, HandleTable<List, Members, kList>& lists, MemberTable& member_table,
             const Member* const* value, uint64_t size) {
  if (value == nullptr) size = 0;
  for (uint64_t i = 0; i < size; ++i) {
    if (value[i] == nullptr || member_table.Contains(value[i])) continue;
    Refuse(ACLNN_ERR_PARAM_INVALID, "%s: value[%llu] is %s; expected a living %s or NULL.", function,
           static_cast<unsigned long long>(i), DescribeUnusable(value[i], member_table.kind),
           KindName(member_table.kind));
    return nullptr;
  }
  Members members;
  List* handle = nullptr;
  if (members.Assign(value, size)) handle = lists.Insert(std::move(members));
  if (handle == nullptr) {
    Refuse(ACLNN_ERR_INNER_NULLPTR, "%s: no memory for a list of size %llu.", function,
           static_cast<unsigned long long>(size));
  }
  return handle;
}

// Always destroys the list and all members that are alive; a member that the caller destroyed before is reported.
template <typename List, typename Members, HandleKind kList, typename Member>
aclnnStatus Destroy(const char* function, HandleTable<List, Members, kList>& lists,
                    aclnnStatus (*destroy_member)(const Member*), const List* list) {
  if (list == nullptr) return ACLNN_SUCCESS;
  Members members;
  if (!lists.Take(list, &members)) return RefuseHandle(function, "array", list, kList, ACLNN_ERR_PARAM_INVALID);
  aclnnStatus status = ACLNN_SUCCESS;
  for (const Member* member : members) {
    const aclnnStatus destroyed = destroy_member(member);
    if (status == ACLNN_SUCCESS) status = destroyed;
  }
  return status;
}

template <typename List, typename Members, HandleKind kList>
aclnnStatus Size(const char* function, const char* argument, HandleTable<List, Members, kList>& lists, const List* list,
                 uint64_t* size) {
  if (list == nullptr) return RefuseNull(function, argument, ACLNN_ERR_PARAM_NULLPTR);
  if (size == nullptr) return RefuseNull(function, "size", ACLNN_ERR_PARAM_NULLPTR);
  if (lists.Visit(list, [size](const Members& members) { *size = members.size(); })) return ACLNN_SUCCESS;
  return RefuseHandle(function, argument, list, kList, ACLNN_ERR_PARAM_INVALID);
}

}  // namespace
}  // namespace canopy::nnopbase

namespace nnopbase = canopy::nnopbase;

aclTensorList* aclCreateTensorList(const aclTensor* const* value, uint64_t size) {
  return nnopbase::Create("aclCreateTensorList", nnopbase::tensor_lists, nnopbase::tensors, value, size);
}

aclScalarList* aclCreateScalarList(const aclScalar* const* value, uint64_t size) {
  return nnopbase::Create("aclCreateScalarList", nnopbase::scalar_lists, nnopbase::scalars, value, size);
}

aclnnStatus aclDestroyTensorList(const aclTensorList* array) {
  return nnopbase::Destroy("aclDestroyTensorList", nnopbase::tensor_lists, aclDestroyTensor, array);
}

aclnnStatus aclDestroyScalarList(const aclScalarList* array) {
  return nnopbase::Destroy("aclDestroyScalarList", nnopbase::scalar_lists, aclDestroyScalar, array);
}

aclnnStatus aclGetTensorListSize(const aclTensorList* tensorList, uint64_t* size) {
  return nnopbase::Size("aclGetTensorListSize", "tensorList", nnopbase::tensor_lists, tensorList, size);
}

aclnnStatus aclGetScalarListSize(const aclScalarList* scalarList, uint64_t* size) {
  return nnopbase::Size("aclGetScalarListSize", "scalarList", nnopbase::scalar_lists, scalarList, size);
}
