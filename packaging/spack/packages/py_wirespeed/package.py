from spack.package import *


class PyWirespeed(PythonPackage):
    """How fast data moves between processors over every path that a machine offers, and which wires it travels over.

    MPI, CUDA, NCCL and the others are opened at run time: load those that are to be measured.
    """

    # Copy this folder into a repository of yours, as repos/NAME/packages, and name the place of the sources:
    #   spack develop --path /path/to/wirespeed py-wirespeed@main && spack install py-wirespeed
    license("Apache-2.0")

    version("main", branch="main")

    variant("fleet", default=False, description="A history of a fleet in Parquet files")
    variant("plot", default=False, description="Plots for papers")

    depends_on("cxx", type="build")
    depends_on("python@3.10:", type=("build", "run"))
    depends_on("py-scikit-build-core@0.10:", type="build")
    depends_on("cmake@3.18:", type="build")
    depends_on("ninja", type="build")

    with default_args(type=("build", "run")):
        depends_on("py-cffi@1.15:")
        depends_on("py-click@8.1:")
        depends_on("py-jinja2@3.1:")
        depends_on("py-mpi4py@4.1:")
        depends_on("py-msgspec@0.19:")
        depends_on("py-numpy@1.26:")
        depends_on("py-nvidia-ml-py@12.535:")
        depends_on("py-psutil@5.9:")
        depends_on("py-rich@13.7:")
        depends_on("py-tomli@2:", when="^python@:3.10")
        depends_on("py-duckdb@1.1:", when="+fleet")
        depends_on("py-matplotlib@3.8:", when="+plot")

    conflicts("%gcc@:10", msg="The core is written in C++20")
