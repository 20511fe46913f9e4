// An outside library opened at run time. What is missing is an Error that says what was looked for.
#pragma once

#include <string>
#include <vector>

namespace wirespeed {

class Library {
  public:
    /// Opens the first of `candidates` that loads; a path registered for `name` with set_path()
    /// is tried before all others. Throws Error with the loader's own words.
    Library(std::string name, const std::vector<std::string>& candidates);
    ~Library();
    Library(Library&& other) noexcept;
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
    Library& operator=(Library&&) = delete;

    /// The address of `symbol`; throws Error when the library has none.
    void* symbol(const char* symbol) const;
    /// The address of `symbol`, or null.
    void* find(const char* symbol) const noexcept;

    template <class Function> void bind(Function*& function, const char* name) const {
        function = reinterpret_cast<Function*>(symbol(name));
    }

    const std::string& path() const { return path_; }

    /// Where the front end found the library called `name` ("nvrtc", "nccl", ...).
    static void set_path(const std::string& name, const std::string& path);
    /// That path, or nothing.
    static std::string known_path(const std::string& name);

  private:
    std::string name_, path_;
    void* handle_ = nullptr;
};

}  // namespace wirespeed
