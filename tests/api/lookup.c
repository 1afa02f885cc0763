// SPDX-License-Identifier: Apache-2.0
// A client that loads libraries by name, as op-plugin does: it finds even the handles' functions through the operator
// library, and frees an array through the operator delete[] that it finds through the handles' library.
// lookup LIB_FOLDER
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "aclnn/acl_meta.h"

typedef aclTensor *(*Create)(const int64_t *, uint64_t, aclDataType, const int64_t *, int64_t, aclFormat,
                             const int64_t *, uint64_t, void *);
typedef aclnnStatus (*Destroy)(const aclTensor *);
typedef aclnnStatus (*Shape)(const aclTensor *, int64_t **, uint64_t *);
typedef void (*Delete)(void *);

static void *Open(const char *folder, const char *library) {
  char path[4096];
  void *handle;
  snprintf(path, sizeof(path), "%s/%s", folder, library);
  handle = dlopen(path, RTLD_LAZY);
  if (handle == NULL) printf("%s\n", dlerror());
  return handle;
}

// ISO C has no conversion from an object's address to a function's.
static void Find(void *handle, const char *name, void *function) {
  void *address = dlsym(handle, name);
  if (address == NULL) printf("%s is not found\n", name);
  memcpy(function, &address, sizeof(address));
}

int main(int argc, char **argv) {
  Create create;
  Destroy destroy;
  Shape shape;
  Delete delete_array;
  const int64_t dims[2] = {3, 4};
  aclTensor *tensor;
  int64_t *got = NULL;
  uint64_t count = 0;
  void *operators;
  void *handles;
  if (argc != 2) return 2;
  operators = Open(argv[1], "libopapi_nn.so");
  handles = Open(argv[1], "libnnopbase.so");
  if (operators == NULL || handles == NULL) return 1;
  Find(operators, "aclCreateTensor", &create);
  Find(operators, "aclDestroyTensor", &destroy);
  Find(operators, "aclGetViewShape", &shape);
  Find(handles, "_ZdaPv", &delete_array);
  if (create == NULL || destroy == NULL || shape == NULL || delete_array == NULL) return 1;
  if (dlsym(operators, "PTAGetExecCache") != NULL) return 1;
  tensor = create(dims, 2, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, dims, 2, NULL);
  if (tensor == NULL || shape(tensor, &got, &count) != 0) return 1;
  if (count != 2 || got[0] != 3 || got[1] != 4) return 1;
  delete_array(got);
  return destroy(tensor) == 0 ? 0 : 1;
}
