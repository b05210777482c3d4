// What NCCL makes of a topology file, with NCCL's own reader and path search and no GPU: a line a device with its address, then a line a GPU with how far it finds each other device.
//
// usage: nccl_topology FILE       built by nccl_topology.sh
//
// Devices of the file have no GPU or adapter of a kind that NCCL would ask a driver for: each class 0x03 stands for a GPU of compute capability 9.0, each other device for an adapter of
// 400 Gb/s, both with GPUDirect RDMA.
#include <stdarg.h>
#include <stdio.h>

#include "comm.h"
#include "core.h"
#include "graph.h"
#include "nvmlwrap.h"
#include "topo.h"
#include "xml.h"

// What the three sources ask of the rest of NCCL.
int ncclDebugLevel = NCCL_LOG_WARN;
uint64_t ncclDebugMask = ~0ULL;
thread_local int ncclDebugNoWarn;
ncclNvmlDevicePairInfo ncclNvmlDevicePairs[32][32];

void ncclDebugLogInternal(ncclDebugLogLevel level, unsigned long, const char*, const char*, int, const char* format, ...) {
  // The machine that this runs on has none of the file's devices.
  if (level != NCCL_LOG_WARN || strstr(format, "Could not find real path") || strstr(format, "Attribute %s of node")) return;
  va_list arguments;
  va_start(arguments, format);
  printf("WARN ");
  vprintf(format, arguments);
  puts("");
  va_end(arguments);
}

int64_t ncclLoadParam(char const*, int64_t value, int64_t, int64_t* cache, int8_t*) {
  *cache = value;
  return value;
}

uint64_t getHostHash() { return 1; }
const char* ncclGetEnv(const char* name) { return getenv(name); }

ncclResult_t busIdToInt64(const char* text, int64_t* id) {
  unsigned domain, bus, device, function;
  if (sscanf(text, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4) return ncclInvalidArgument;
  *id = ((int64_t)domain << 20) | (bus << 12) | (device << 4) | function;
  return ncclSuccess;
}

ncclResult_t int64ToBusId(int64_t id, char* text) {
  sprintf(text, "%04lx:%02lx:%02lx.%01lx", id >> 20, (id & 0xff000) >> 12, (id & 0xff0) >> 4, id & 0xf);
  return ncclSuccess;
}

ncclResult_t ncclNvmlDeviceGetHandleByPciBusId(const char*, nvmlDevice_t*) { return ncclSystemError; }
ncclResult_t ncclNvmlEnsureInitialized() { return ncclSuccess; }
ncclResult_t ncclTopoGetXmlFromSys(struct ncclXmlNode*, struct ncclXml*);

static void check(ncclResult_t result, const char* what) {
  if (result == ncclSuccess) return;
  printf("failed: %s (%d)\n", what, result);
  exit(1);
}

// Gives a device of the file what NCCL would have found of it.
static void detect(ncclXml* xml, ncclXmlNode* pci, int* gpus, int* adapters) {
  const char *type, *address;
  ncclXmlNode *device, *port;
  check(ncclTopoGetXmlFromSys(pci, xml), "sysfs");
  check(xmlGetAttr(pci, "class", &type), "class");
  check(xmlGetAttr(pci, "busid", &address), "busid");
  if (!strncmp(type, "0x03", 4)) {
    printf("GPU%d %s\n", *gpus, address);
    check(xmlAddNode(xml, pci, "gpu", &device), "gpu");
    xmlSetAttrInt(device, "dev", *gpus);
    xmlSetAttrInt(device, "sm", 90);
    xmlSetAttrInt(device, "rank", (*gpus)++);
    xmlSetAttrInt(device, "gdr", 1);
    return;
  }
  printf("NET%d %s\n", *adapters, address);
  check(xmlAddNode(xml, pci, "nic", &device), "nic");
  check(xmlAddNode(xml, device, "net", &port), "net");
  xmlSetAttr(port, "name", "adapter");
  xmlSetAttrInt(port, "dev", (*adapters)++);
  xmlSetAttrInt(port, "speed", 400000);
  xmlSetAttrInt(port, "gdr", 1);
}

int main(int, char** arguments) {
  ncclXml* xml;
  check(xmlAlloc(&xml, 1024), "memory");
  check(ncclTopoGetXmlFromFile(arguments[1], xml, 1), "reading the file");
  int count = xml->maxIndex, gpus = 0, adapters = 0;
  for (int at = 0; at < count; at++) {
    ncclXmlNode* node = xml->nodes + at;
    if (!strcmp(node->name, "cpu")) xmlSetAttrLong(node, "host_hash", 1);
    if (!strcmp(node->name, "pci") && !node->nSubs) detect(xml, node, &gpus, &adapters);
  }

  ncclTopoSystem* system = NULL;
  check(ncclTopoGetSystemFromXml(xml, &system, 1), "the system");
  check(ncclTopoComputePaths(system, NULL), "the paths");
  const char* names[] = {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS", "NET", "DIS"};
  for (int at = 0; at < system->nodes[GPU].count; at++) {
    ncclTopoNode* gpu = system->nodes[GPU].nodes + at;
    printf("GPU%d:", gpu->gpu.rank);
    for (int to = 0; to < system->nodes[GPU].count; to++)
      printf(" GPU%d=%s", system->nodes[GPU].nodes[to].gpu.rank, names[gpu->paths[GPU][to].type]);
    for (int to = 0; to < system->nodes[NET].count; to++)
      printf(" NET%d=%s", system->nodes[NET].nodes[to].net.dev, names[gpu->paths[NET][to].type]);
    puts("");
  }
}
