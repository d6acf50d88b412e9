// Every command of the shell, each defined in the file named beside it.
#pragma once

#include "shell/command.h"

namespace heaptape {

extern const Command kGotoCommand, kNextCommand, kPreviousCommand, kLastCommand, kFindCommand,
    kMarksCommand, // moving.cpp
    kPeakCommand;
extern const Command kEventsCommand, kEventCommand, kStackCommand, kTextCommand;  // events.cpp
extern const Command kCheckpointsCommand, kScopesCommand;                         // checkpoints.cpp
extern const Command kWhereCommand, kStatsCommand, kThreadsCommand;               // state.cpp
extern const Command kOwnerCommand, kHistoryCommand;                              // owner.cpp
extern const Command kCrashCommand;                                               // crash.cpp
extern const Command kExplainCommand;                                             // explain_command.cpp
extern const Command kBlocksCommand;                                              // blocks.cpp
extern const Command kLiveCommand, kTopCommand, kDiffCommand;                     // costs.cpp
extern const Command kLeaksCommand;                                               // leaks.cpp
extern const Command kSymbolCommand, kSymbolAtCommand;                            // symbols.cpp
extern const Command kMapCommand;                                                 // map_command.cpp
extern const Command kArenasCommand, kMappingsCommand;                            // arenas.cpp, mappings.cpp
extern const Command kSnapshotsCommand, kBytesCommand;                            // snapshots.cpp, bytes.cpp
extern const Command kRefsCommand, kAllRefsCommand, kTraceCommand, kRootsCommand; // references.cpp
extern const Command kCheckHeapCommand;                                           // check_heap.cpp
extern const Command kStackInfoCommand;                                           // stack_info.cpp
extern const Command kTypeCommand, kTypesCommand;                                 // types.cpp
extern const Command kRetainedCommand;                                            // retained.cpp
extern const Command kPoolsCommand;                                               // pools.cpp
extern const Command kSqlCommand;                                                 // sql_command.cpp
extern const Command kErrorsCommand;                                              // errors.cpp
extern const Command kVerifyCommand;                                              // verify.cpp
extern const Command kHelpCommand;                                                // help.cpp

} // namespace heaptape
