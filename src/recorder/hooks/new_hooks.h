// operator new and delete, in every form.
#pragma once

namespace heaptape::recorder {

// Finds out whose operators stand behind ours; call once the real C functions are known.
void choose_operator_new() noexcept;

} // namespace heaptape::recorder
