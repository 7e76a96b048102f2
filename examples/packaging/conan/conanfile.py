"""Recipe for Conan 2: copies the header and names its one library."""
import os

from conan import ConanFile
from conan.tools.files import copy


class Mcamp(ConanFile):
    name = "mcamp"
    version = "0.4.0"
    license = "MIT"
    description = "Differentially private training with correlated noise, one C header"
    package_type = "header-library"
    no_copy_source = True

    def export_sources(self):
        top = os.path.join(self.recipe_folder, "..", "..", "..")
        copy(self, "mcamp.h", top, self.export_sources_folder)
        copy(self, "LICENSE", top, self.export_sources_folder)

    def package(self):
        copy(self, "mcamp.h", self.source_folder, os.path.join(self.package_folder, "include"))
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_id(self):
        self.info.clear()

    def package_info(self):
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        if self.settings.get_safe("os") != "Windows":
            self.cpp_info.system_libs = ["m"]
